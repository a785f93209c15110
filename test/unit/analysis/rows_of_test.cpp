// A trace that is written: in a file, and not in memory.
#include "analysis/importer/rows_of.h"

#include <sqlite3.h>

#include <catch2/catch.hpp>

#include "analysis/process/temporary.h"

namespace rows_of_test {

using namespace gpushim::analysis;

namespace {

constexpr const char* kSchema = "CREATE TABLE pair (key INTEGER PRIMARY KEY, value INTEGER)";

struct Pair {
    static constexpr const char* kTable = "pair";
    Cell key, value;
};
std::array<Cell, 2> cells_of(const Pair& pair) { return {pair.key, pair.value}; }

sqlite3_int64 bytes_of_pages() {
    sqlite3_int64 now = 0, most = 0;
    sqlite3_status64(SQLITE_STATUS_PAGECACHE_OVERFLOW, &now, &most, 0);
    return now;
}

}  // namespace

TEST_CASE("of rows that are written as many pages are held as there is room for", "[rows_of]") {
    constexpr int64_t kRows = 1'500'000, kSecond = 1'000'000'000;
    const TemporaryFolder folder;
    const auto before = bytes_of_pages();
    RowsOf rows(folder.path() / "pairs.db", kSchema);
    for (int64_t i = 0; i < kRows; ++i) rows.add(Pair{.key = i * kSecond, .value = i * kSecond});
    const auto held = bytes_of_pages() - before;
    CHECK(held > 0);
    CHECK(held < (10 << 20));
    rows.finish();
    CHECK(std::filesystem::file_size(folder.path() / "pairs.db") > (25 << 20));
}

}  // namespace rows_of_test
