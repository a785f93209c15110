// Variables that we put into the program's environment before its own code runs, by pointers in an array of
// our own: setenv would allocate. Start-up only, one thread. Allocates nothing, says nothing.
#pragma once

#include <cstddef>

namespace gpushim::shim {

// The place of the variable with this name, or null. `name` ends in '='.
char** find_variable(const char* name, size_t length);

// NAME=value, which must stay where it is. With more than 8192 variables the environment stays as it is:
// false.
bool add_variable(char* entry);

}  // namespace gpushim::shim
