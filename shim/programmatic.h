// Programmatic launches: kernels that may begin before the one before them in their stream is over, unless an
// event lies between. So such a pair gets none: neither before the second, which says what it is, nor after
// the first, by what followed its function the last time. One event stands between them, the first time. Any
// thread; no allocation, no lock.
#pragma once

#include <cstdint>

namespace gpushim::shim {

// What followed an operation in its stream; what shares a place with another is forgotten.
void note_successor(uint64_t what, bool is_programmatic);
bool has_programmatic_successor(uint64_t what);

// Operations without events for that reason, since the process began.
void count_programmatic();
uint64_t programmatic_operations();

void forget_programmatic();  // in a process that was forked

}  // namespace gpushim::shim
