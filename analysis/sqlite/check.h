// What SQLite returns, told with the file's name. Any thread.
#pragma once

#include <string>

#include "../failure.h"

struct sqlite3;

namespace gpushim::analysis {

[[noreturn]] void fail(const std::string& where, const std::string& what, ExitCode code = kUsage);
void check(sqlite3* base, const std::string& where, int code);  // base: null, where none could be opened
void run_on(sqlite3* base, const std::string& where, const std::string& sql);

}  // namespace gpushim::analysis
