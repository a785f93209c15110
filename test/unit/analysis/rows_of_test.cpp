// A trace that is written: in a file, and not in memory.
#include "analysis/importer/rows_of.h"

#include <sqlite3.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "analysis/process/temporary.h"
#include "analysis/sqlite/database.h"
#include "made_image.h"
#include "shim/base/sanitized.h"

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

int64_t resident_bytes() {
    int64_t all = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> all >> resident;
    return resident * sysconf(_SC_PAGESIZE);
}

struct Strict {
    static constexpr const char* kTable = "strict";
    Cell key, value;
};
std::array<Cell, 2> cells_of(const Strict& row) { return {row.key, row.value}; }

}  // namespace

TEST_CASE("of rows that are written as many pages are held as there is room for", "[rows_of]") {
    constexpr int64_t kRows = 1'500'000, kSecond = 1'000'000'000;
    const TemporaryFolder folder;
    const auto before = bytes_of_pages();
    RowsOf rows(folder.path() / "pairs.db", made_image(kSchema));
    rows.add(Pair{.key = kRows * kSecond, .value = 0});  // those that are not behind it go by statements
    for (int64_t i = 0; i < kRows; ++i) rows.add(Pair{.key = i * kSecond, .value = i * kSecond});
    const auto held = bytes_of_pages() - before;
    CHECK(held > 0);
    CHECK(held < (10 << 20));
    rows.finish();
    CHECK(std::filesystem::file_size(folder.path() / "pairs.db") > (25 << 20));
}

TEST_CASE("of rows that come in order the memory is that of few pages", "[rows_of]") {
    constexpr int64_t kRows = 1'500'000, kSecond = 1'000'000'000;
    const TemporaryFolder folder;
    const std::string image = made_image(kSchema);
    const int64_t before = resident_bytes();
    RowsOf rows(folder.path() / "pairs.db", image);
    for (int64_t i = 0; i < kRows; ++i) rows.add(Pair{.key = i * kSecond, .value = i * kSecond});
    // Under AddressSanitizer what is freed stays for a while.
    if (!UNDER_ADDRESS_SANITIZER) CHECK(resident_bytes() < before + (2 << 20));
    rows.finish();
    CHECK(std::filesystem::file_size(folder.path() / "pairs.db") > (25 << 20));
    Query row = Database(folder.path() / "pairs.db").prepare("SELECT count(*), sum(key = value) FROM pair");
    REQUIRE(row.step());
    CHECK(row.number(0) == kRows);
    CHECK(row.number(1) == kRows);
}

TEST_CASE("what a table refuses is refused, whether SQLite writes its pages or not", "[rows_of]") {
    const TemporaryFolder folder;
    const std::string image =
        made_image("CREATE TABLE strict (key INTEGER PRIMARY KEY, value INTEGER NOT NULL)");
    {
        RowsOf rows(folder.path() / "a.db", image);
        rows.add(Strict{.key = 1, .value = 2});
        CHECK_THROWS_AS(rows.add(Strict{.key = 2, .value = Cell()}), RowRefused);
    }
    RowsOf rows(folder.path() / "b.db", image);
    rows.add(Strict{.key = 1, .value = 2});
    CHECK_THROWS_AS(rows.add(Strict{.key = 1, .value = 3}), RowRefused);
}

// An index has its rows, too.
TEST_CASE("rows of a table that has an index are found by it", "[rows_of]") {
    const TemporaryFolder folder;
    RowsOf rows(folder.path() / "pairs.db",
                made_image(std::string(kSchema) + "; CREATE INDEX by_value ON pair (value)"));
    for (int64_t i = 0; i < 100; ++i) rows.add(Pair{.key = i, .value = i % 10});
    rows.finish();
    const Database base(folder.path() / "pairs.db");
    Query found = base.prepare("SELECT count(*) FROM pair INDEXED BY by_value WHERE value = 3");
    REQUIRE(found.step());
    CHECK(found.number(0) == 10);
}

// Keys fall: the first row goes into the pages, the others by statements, as do those of a table without key.
TEST_CASE("rows stand in the order in which they were added, and none is missing", "[rows_of]") {
    for (const int64_t count : {0, 1, 31, 32, 33, 64, 100}) {
        const TemporaryFolder folder;
        const auto place = folder.path() / "words.db";
        RowsOf rows(place, made_image("CREATE TABLE word (number INTEGER, text TEXT);"
                                      "CREATE TABLE pair (key INTEGER PRIMARY KEY, value INTEGER)"));
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
