// The one way to skip a case: it says what it lacks by a name in test/optional.list, and returns.
// test/run fails a case that is skipped for any other reason.
#pragma once

#include <cstdio>

inline void lacks(const char* name) { std::printf("SKIP: optional: %s\n", name); }
