// A block of rows as a table of SQLite's (a virtual one), so that one statement inserts all of them. The
// writer's thread; the block outlives the table.
#pragma once

#include <sqlite3.h>

namespace gpushim::shim {

extern const sqlite3_module rows_module;  // to be given a Rows*

}  // namespace gpushim::shim
