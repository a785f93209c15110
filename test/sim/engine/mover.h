// Moves the bytes, in the order in which operations became known, beside the program's threads: a copy call
// must not last as long as a memcpy of its bytes. In stepped mode bytes move at once, on the caller's thread.
#pragma once

#include <cstdint>
#include <functional>

namespace gpusim::mover {

using Job = std::function<void()>;

// Small jobs run at once when nothing is waiting before them. Returns the job's ticket; needs the engine's
// lock.
uint64_t push(Job job, int64_t bytes);

// Whether all jobs up to `ticket` are done. Any thread.
bool done(uint64_t ticket);
void wait(uint64_t ticket);

// The newest ticket given out. Needs the engine's lock.
uint64_t newest();

}  // namespace gpusim::mover
