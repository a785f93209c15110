// A trace that is written: in a file, and not in memory.
#include "analysis/importer/rows_of.h"

#include <sqlite3.h>

#include <catch2/catch.hpp>

#include "analysis/process/temporary.h"
#include "analysis/sqlite/database.h"

namespace rows_of_test {

using namespace gpushim::analysis;

namespace {

constexpr const char* kSchema = "CREATE TABLE pair (key INTEGER PRIMARY KEY, value INTEGER)";

struct Pair {
    static constexpr const char* kTable = "pair";
    Cell key, value;
};
std::array<Cell, 2> cells_of(const Pair& pair) { return {pair.key, pair.value}; }

struct Word {
    static constexpr const char* kTable = "word";
    Cell number, text;
};
std::array<Cell, 2> cells_of(const Word& word) { return {word.number, word.text}; }

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

// Numbers are written many rows at once, texts alone.
TEST_CASE("rows stand in the order in which they were added, and none is missing", "[rows_of]") {
    for (const int64_t count : {0, 1, 31, 32, 33, 64, 100}) {
        const TemporaryFolder folder;
        const auto place = folder.path() / "words.db";
        RowsOf rows(place,
                    "CREATE TABLE word (number INTEGER, text TEXT);"
                    "CREATE TABLE pair (key INTEGER PRIMARY KEY, value INTEGER)");
        const auto is_text = [](int64_t i) { return i % 40 == 7; };
        for (int64_t i = 0; i < count; ++i) {
            rows.add(Word{.number = i, .text = is_text(i) ? Cell("a") : Cell()});
            rows.add(Pair{.key = -i, .value = i % 3 == 0 ? Cell() : Cell(i)});
        }
        rows.finish();
        const Database base(place);
        int64_t next = 0;
        for (Query row = base.prepare("SELECT number, text FROM word ORDER BY rowid"); row.step(); ++next) {
            CHECK(row.number(0) == next);
            CHECK(row.text(1) == (is_text(next) ? "a" : ""));
        }
        CHECK(next == count);
        for (Query row = base.prepare("SELECT key, value FROM pair ORDER BY key DESC"); row.step(); --next) {
            const int64_t i = count - next;
            CHECK(row.number(0) == -i);
            CHECK(row.maybe(1) == (i % 3 == 0 ? std::nullopt : std::optional(i)));
        }
        CHECK(next == 0);
    }
}

}  // namespace rows_of_test
