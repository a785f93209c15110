#include "check.h"

#include <sqlite3.h>

namespace gpushim::analysis {

void fail(const std::string& where, const std::string& what, ExitCode code) {
    throw Failure(where.empty() ? what : where + ": " + what, code);
}

void check(sqlite3* base, const std::string& where, int code) {
    if (code != SQLITE_OK) fail(where, base != nullptr ? sqlite3_errmsg(base) : sqlite3_errstr(code));
}

void run_on(sqlite3* base, const std::string& where, const std::string& sql) {
    check(base, where, sqlite3_exec(base, sql.c_str(), nullptr, nullptr, nullptr));
}

}  // namespace gpushim::analysis
