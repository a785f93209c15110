// Memory for rings, all of its pages there: nobody who writes an event waits for one, or finds none. No
// allocation, no exceptions; errno may change. Any thread.
#pragma once

#include <cstddef>

namespace gpushim::shim {

// Null: not to be had.
void* private_memory(size_t bytes);

// Of a new file, which outlives the process. One that is there already is nobody's to take.
void* file_memory(const char* path, size_t bytes);

}  // namespace gpushim::shim
