// The folder of a trace: where the process started, and folders that are made for it. Plain calls of the
// kernel; no allocation.
#pragma once

#include <cstddef>

namespace gpushim::shim {

// Called once, before the program's own code: it may go elsewhere later, and a relative name is not to change
// its meaning with that.
void remember_start_folder();

// `name` from the root on; `*base` is the length of what is not the name's own. False: too long, or the start
// is not known.
bool make_absolute(const char* name, char* to, size_t size, size_t* base);

// Makes what is missing of the folders between `base` and the last slash of an absolute path. What was there
// is entered as the path says; what is made here, or by another process at the same moment, is never entered
// by a link. 0, or an errno.
int make_folders(const char* path, size_t base);

// A folder, or a link to one that this user or root has made: others' links are not followed.
bool is_folder(const char* path);

// "is a device", "is a FIFO" or "is a socket", where that is what the path leads to; null else.
const char* special_file(const char* path);

}  // namespace gpushim::shim
