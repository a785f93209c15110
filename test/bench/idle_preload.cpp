// A preload that has a C++ library in it and does nothing: what a process pays for any such preload.
#include <iostream>

extern "C" __attribute__((visibility("default"))) void idle_preload(const char* word) { std::cerr << word; }
