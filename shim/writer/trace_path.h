// The trace's file name: the pattern of GPUSHIM_OUT filled in, and a name that nobody has yet.
#pragma once

#include <cstddef>

#include "../machine/identity.h"

namespace gpushim::shim {

// %h host, %p pid, %r global rank, %l local rank (x: not known), %j job, %q{VAR}, %%. False: too long, or not
// a pattern.
bool fill_pattern(const char* pattern, const TraceIdentity& identity, char* to, size_t size);

// The absolute name of the trace of this process, by a pattern. Where that is a folder, or ends in a slash,
// the default name in it.
struct OutputName {
    char path[1024];
    size_t base;      // so much of it is where the process started: no folder is made there
    const char* why;  // there is none: what follows the pattern in a complaint; null: there is one
};
OutputName name_output(const char* pattern, const TraceIdentity& identity,
                       const char* default_name = kDefaultOut);

// The same for the metrics of this process, with the folders made that it is to be in. It takes the place of
// a file of that name: one of a process before it. False: there can be none, which has been said.
bool make_metrics_path(const char* pattern, const TraceIdentity& identity, char* path, size_t size);

// Creates the file, empty, and the folders that it is to be in, and writes its path. A taken name gets .2, .3
// … .99 before .db. 0, or an errno.
int create_output(const OutputName& name, char* path, size_t size);

// Why no process can have a trace by this pattern, as far as that shows before there is one; null: it can.
const char* why_no_output(const char* pattern);

}  // namespace gpushim::shim
