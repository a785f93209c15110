// Names of the environment that begin like ours and are not in the table of settings: most are misspelt, and
// would be passed over in silence. Any thread.
#pragma once

#include <cstddef>

namespace gpushim::shim {

// The name that was most likely meant; null: no name is near. `name` need not end after `length`.
const char* nearest_setting(const char* name, size_t length);

// Calls `say` for each such name of the environment, with what follows the name in a complaint.
void each_unknown_setting(void (*say)(void* with, const char* name, const char* said), void* with);

// One line of the log for each of them, once in a process.
void warn_of_unknown_settings();

}  // namespace gpushim::shim
