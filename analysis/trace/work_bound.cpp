#include "work_bound.h"

#include <sqlite3.h>

#include <filesystem>

namespace gpushim::analysis {

namespace {

namespace fs = std::filesystem;

// Steps of SQLite's machine, a hundred million of which take a second or two: many times what the analysis
// asks of a file of ours. A run of many steps with little in them takes more for a byte than others.
constexpr int kWorkAtOnce = 10'000;
constexpr int64_t kLeastWork = 100'000'000, kWorkPerByte = 500;
constexpr int kLongestName = 16 << 20;  // bytes; names have 64 KiB

int has_worked(void* left) { return --*static_cast<int64_t*>(left) < 0 ? 1 : 0; }

int all_are_equal(void*, int, const void*, int, const void*) { return 0; }

int64_t bytes_of(const std::string& file) {
    std::error_code error;
    const auto bytes = fs::file_size(file, error);
    return error ? 0 : static_cast<int64_t>(bytes);
}

}  // namespace

void bound_work(Database& base) {
    const int64_t bytes = bytes_of(base.where()) + bytes_of(base.where() + "-wal");
    const int64_t most = (kLeastWork + kWorkPerByte * bytes) / kWorkAtOnce;
    base.set_up([most](sqlite3* opened) {
        // The connection counts there for as long as it is open; what goes with it is what it can compare
        // with.
        auto* const left = new int64_t(most);
        sqlite3_progress_handler(opened, kWorkAtOnce, has_worked, left);
        sqlite3_create_collation_v2(opened, "gpushim_work_left", SQLITE_UTF8, left, all_are_equal,
                                    [](void* count) { delete static_cast<int64_t*>(count); });
        sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, kLongestName);
    });
}

std::string file_of(sqlite3* base) {
    const char* const name = sqlite3_db_filename(base, "main");
    return name != nullptr && *name != '\0' ? name : "the run's database";
}

}  // namespace gpushim::analysis
