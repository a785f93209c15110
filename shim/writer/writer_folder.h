// Where the rings of this process are: a folder in tmpfs that recovery finds after a kill, under a lock that
// says that they belong to somebody who lives. The writer's thread only.
#pragma once

#include "../machine/identity.h"

namespace gpushim::shim {

struct WriterFolder {
    int user = -1;
    int trace = -1;
    int lock = -1;
    char path[256] = {};
};

// False: not to be had.
bool open_folder(WriterFolder& folder, const TraceIdentity& identity);
void close_folder(WriterFolder& folder);
void remove_folder(const WriterFolder& folder, const TraceIdentity& identity);

// The rings of a new trace, there or in private memory; identity.rings_survive says which.
void make_rings(WriterFolder& folder, TraceIdentity& identity, const char* trace_path);

}  // namespace gpushim::shim
