// Whether SQLite's write-ahead log may be used where a path is: not on file systems of other machines. Any
// thread.
#pragma once

namespace gpushim::shim {

bool is_network_file_system(const char* path);

}  // namespace gpushim::shim
