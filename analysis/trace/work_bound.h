// What questions may cost that we ask of a file, whatever views are in it. Whoever has made one that never
// ends gets a Failure. Not for what people ask themselves.
#pragma once

#include <string>

#include "../sqlite/database.h"

namespace gpushim::analysis {

// From here on they may take only so many steps as the file's size explains, all together until it rests.
void bound_work(Database& base);

// The file that a connection reads, for messages.
std::string file_of(sqlite3* base);

}  // namespace gpushim::analysis
