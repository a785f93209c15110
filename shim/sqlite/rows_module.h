// Blocks of rows as a table of SQLite's (a virtual one), so that one statement inserts all of a block:
// `SELECT c0,c1 FROM new_rows(?)`, a pointer to the block being bound. One table for all blocks: declaring
// one costs more than a table of the schema does. The writer's thread; a block outlives the statement.
#pragma once

#include <sqlite3.h>

#include <string>

#include "rows.h"

namespace gpushim::shim {

inline constexpr char kRowsPointer[] = "rows";  // the type that SQLite knows such a pointer by

std::string column_names(int count);  // c0,c1,…
extern const sqlite3_module rows_module;

}  // namespace gpushim::shim
