// The truth file: what really happened on the box, one line per operation, written with write(2) as soon as
// an operation's times and the call that issued it are both known, so that killing the program loses nothing
// of it. In stepped mode lines come in the order of issue, so that equal runs give equal files. And the
// counts file beside it: calls entered and returned per exported name, in shared pages. Any thread; own lock,
// taken last.
#pragma once

#include <cstdint>

#include "clock.h"
#include "operation.h"

namespace gpusim::truth {

// One exported name's record in <file>.counts.
struct Count {
    char name[72];
    uint64_t entered;
    uint64_t returned;
    uint64_t nested;  // calls that the box made to itself through this name
};
static_assert(sizeof(Count) == 96);

// The record of `name`, made at first call. Without a truth file the counts are kept, but nowhere written.
Count* count(const char* name);

// The calling thread is inside an exported call from `enter_ns` on; operations issued until `end_call` belong
// to it.
void begin_call(Ns enter_ns);
void end_call(Ns exit_ns);

// From the engine, with its lock held.
void issued(Operation& op);
void known(const Operation& op);

}  // namespace gpusim::truth
