// Which frameworks' libraries are loaded, by the names of their files: what a person should be told depends
// on it. Asks the dynamic linker, under its lock; allocates nothing.
#pragma once

#include <cstddef>

namespace gpushim::shim {

// "python,pytorch": of those that are known here, each once; "none": none of them is loaded.
void list_frameworks(char* to, size_t size);

}  // namespace gpushim::shim
