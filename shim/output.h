// The trace's file name: the pattern of GPUSHIM_OUT filled in, and a name that nobody has yet.
#pragma once

#include <cstddef>

#include "identity.h"

namespace gpushim::shim {

// %h host, %p pid, %r global rank, %l local rank (x: not known), %j job, %q{VAR}, %%. False: too long, or not
// a pattern.
bool fill_pattern(const char* pattern, const TraceIdentity& identity, char* to, size_t size);

// Creates the file, empty, and writes its absolute path. A taken name gets .2, .3 … .99 before .db. 0, or an
// errno.
int create_output(const char* name, char* path, size_t size);

}  // namespace gpushim::shim
