// Programmatic launches: kernels that may begin before the one before them in their stream is over, unless an
// event lies between. So such a pair gets none: neither before the second, which says what it is, nor after
// the first, once its function has been seen before such a launch. One event stands between them, the first
// time. Any thread; no allocation, no lock.
#pragma once

#include <cstdint>

namespace gpushim::shim {

// For good: a function may have successors of both kinds. What shares a place with another is forgotten.
void note_programmatic_successor(uint64_t what);
bool has_programmatic_successor(uint64_t what);

// Operations without events for that reason, since the process began.
void count_programmatic();
uint64_t programmatic_operations();

void forget_programmatic();  // in a process that was forked

}  // namespace gpushim::shim
