// Rows from a file's pages are those that a statement gives; and no file, however damaged, does more than
// fail.
#include "analysis/sqlite/number_rows.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <random>

#include <sqlite3.h>
#include "analysis/failure.h"
#include "analysis/process/temporary.h"

namespace number_rows_test {

using namespace gpushim::analysis;

namespace {

class File {
  public:
    explicit File(const std::string& sql) {
        sqlite3* base = nullptr;
        REQUIRE(sqlite3_open(path().c_str(), &base) == SQLITE_OK);
        REQUIRE(sqlite3_exec(base, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
        sqlite3_close(base);
    }
    std::string path() const { return (folder_.path() / "file.db").string(); }
    std::string bytes() const {
        std::ifstream file(path(), std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    void write(const std::string& bytes) const { std::ofstream(path(), std::ios::binary) << bytes; }

  private:
    TemporaryFolder folder_;
};

using Rows = std::vector<std::string>;

Rows all(NumberRows&& rows, size_t columns) {
    Rows all;
    NumberRow row;
    while (rows.next(row)) {
        std::string text = std::to_string(row.key);
        for (size_t i = 0; i < columns; ++i)
            text += row.is_null(i) ? "|" : "|" + std::to_string(row.number(i));
        all.push_back(text + " " + std::string(row.text));
    }
    return all;
}

Rows by_sql(const Database& base, const std::string& sql) {
    Rows all;
    Query query = base.prepare(sql);
    while (query.step()) {
        std::string text = query.text(0);
        for (int i = 1; i + 1 < query.columns(); ++i) text += query.is_null(i) ? "|" : "|" + query.text(i);
        all.push_back(text + " " + query.text(query.columns() - 1));
    }
    return all;
}

// Numbers of every length that the format has, in more pages than one level of the tree can name.
constexpr const char* kNumbers =
    "PRAGMA page_size = 512; CREATE TABLE t (k INTEGER PRIMARY KEY, a INTEGER, skipped TEXT, b INTEGER, w "
    "TEXT);"
    "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
    " INSERT INTO t SELECT i * i - 5000000, CASE i % 9 WHEN 0 THEN NULL WHEN 1 THEN 0 WHEN 2 THEN 1 WHEN 3 "
    "THEN"
    " -i % 100 WHEN 4 THEN i * 7 WHEN 5 THEN -i * 1000 WHEN 6 THEN i * 1000000 WHEN 7 THEN i * 100000000000"
    " ELSE -i * 100000000000000 END, 'text ' || i, CASE WHEN i % 5 = 0 THEN 9223372036854775807 - i END,"
    " CASE WHEN i % 3 = 0 THEN 'word ' || i % 7 END FROM n";

const std::vector<std::string> kColumns = {"b", "none", "a", "w"};

}  // namespace

TEST_CASE("rows of pages are those of a statement", "[number_rows]") {
    const File file(kNumbers);
    const Database base(file.path());
    NumberRows rows(base, "t", "k", kColumns);
    REQUIRE(rows.is_from_pages());
    const Rows expected = by_sql(base, "SELECT k, b, NULL, a, coalesce(w, '') FROM t ORDER BY k");
    REQUIRE(expected.size() == 20001);
    CHECK(all(std::move(rows), 3) == expected);
}

// Rows that say the same columns in as many bytes, one behind the other, and such kinds by twos, by threes
// and by sixes in turn; some have a text between them.
TEST_CASE("rows of one kind and kinds in turn are those of a statement", "[number_rows]") {
    const File file(
        "PRAGMA page_size = 512; CREATE TABLE t (k INTEGER PRIMARY KEY, a INTEGER, skipped TEXT, b INTEGER, "
        "w "
        "TEXT);"
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 12000), kinds AS (SELECT i,"
        " CASE i / 1000 % 4 WHEN 0 THEN i / 40 % 6 WHEN 1 THEN i % 2 WHEN 2 THEN i % 3 + 2 ELSE i % 6 END"
        " AS kind FROM n)"
        " INSERT INTO t SELECT i * 37, CASE kind WHEN 1 THEN 1 WHEN 2 THEN i % 100 + 2 WHEN 3 THEN 0 WHEN 4"
        " THEN i + 300 END, 'as long', CASE kind WHEN 0 THEN 1 WHEN 1 THEN i % 100 + 2 WHEN 3 THEN"
        " (1 << 40) + i WHEN 4 THEN 0 END, CASE WHEN kind = 5 OR i % 97 = 0 THEN 'word ' || i END FROM "
        "kinds");
    const Database base(file.path());
    const int64_t first = GENERATE(INT64_MIN, 37 * 4321);
    NumberRows rows(base, "t", "k", kColumns, first);
    REQUIRE(rows.is_from_pages());
    const Rows expected =
        by_sql(base, "SELECT k, b, NULL, a, coalesce(w, '') FROM t WHERE k >= " + std::to_string(first) +
                         " ORDER BY k");
    REQUIRE(expected.size() > 7000);
    CHECK(all(std::move(rows), 3) == expected);
}

// One behind the other of the same length, longer ones, and negative ones, which are the longest.
TEST_CASE("keys of every length are read", "[number_rows]") {
    const File file(
        "CREATE TABLE t (k INTEGER PRIMARY KEY, a INTEGER);"
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 63), near(j) AS"
        " (VALUES (-1), (0), (1), (2))"
        " INSERT OR IGNORE INTO t SELECT (1 << i) + j, i FROM n JOIN near WHERE i < 63 OR j >= 0");
    const Database base(file.path());
    NumberRows rows(base, "t", "k", {"a"});
    REQUIRE(rows.is_from_pages());
    const Rows expected = by_sql(base, "SELECT k, a, '' FROM t ORDER BY k");
    REQUIRE(expected.size() > 240);
    CHECK(all(std::move(rows), 1) == expected);
}

TEST_CASE("rows of pages are read from a key on", "[number_rows]") {
    const File file(kNumbers);
    const Database base(file.path());
    // Before all, the first, between two, one that is there, the last, behind all.
    const int64_t first = GENERATE(INT64_MIN, -5000000, -4999999, 59995000, 395000000, 395000001, INT64_MAX);
    NumberRows rows(base, "t", "k", kColumns, first);
    REQUIRE(rows.is_from_pages());
    const Rows expected =
        by_sql(base, "SELECT k, b, NULL, a, coalesce(w, '') FROM t WHERE k >= " + std::to_string(first) +
                         " ORDER BY k");
    CHECK(all(std::move(rows), 3) == expected);
}

TEST_CASE("a row is found wherever it lies in its page", "[number_rows]") {
    const File file(kNumbers);
    const Database base(file.path());
    for (int64_t i = 9000; i < 9200; ++i) {  // in some ten pages
        NumberRow row;
        REQUIRE(NumberRows(base, "t", "k", kColumns, i * i - 5000000).next(row));
        REQUIRE(row.key == i * i - 5000000);
    }
}

TEST_CASE("a statement reads from a key on too", "[number_rows]") {
    const File file("CREATE TABLE t (x, k INTEGER, a INTEGER); INSERT INTO t (k, a) VALUES (3, 4), (1, 2)");
    const Database base(file.path());
    NumberRows rows(base, "t", "k", {"a"}, 2);
    REQUIRE(!rows.is_from_pages());
    CHECK(all(std::move(rows), 1) == Rows{"3|4 "});
}

TEST_CASE("pages of earlier rows are not read", "[number_rows]") {
    const File file(kNumbers);
    std::string bytes = file.bytes();
    constexpr size_t kPage = 512;
    int leaves = 0;
    for (size_t page = kPage; page < bytes.size() / 2; page += kPage)
        if (bytes[page] == 13 && ++leaves) bytes[page] = 0;  // no kind of page
    REQUIRE(leaves > 100);
    file.write(bytes);
    const Database base(file.path());
    CHECK(all(NumberRows(base, "t", "k", kColumns, 394960001), 3).size() == 2);
    CHECK_THROWS_AS(all(NumberRows(base, "t", "k", kColumns), 3), Failure);
}

// How many rows say what, in the order in which it is said first: with those that are passed over, and not.
Rows told(NumberRows&& rows, bool pass, size_t* passed = nullptr) {
    std::vector<std::pair<std::string, size_t>> counts;
    NumberRow row;
    while (rows.next(row)) {
        const std::string text = row.is_null(0) ? "none" : std::to_string(row.number(0));
        const size_t alike = pass ? rows.pass_alike() : 0;
        if (passed != nullptr) *passed += alike;
        const auto found =
            std::find_if(counts.begin(), counts.end(), [&](const auto& one) { return one.first == text; });
        if (found == counts.end())
            counts.emplace_back(text, 1 + alike);
        else
            found->second += 1 + alike;
    }
    Rows all;
    for (const auto& [text, count] : counts) all.push_back(text + " " + std::to_string(count));
    return all;
}

// Flags of 0 for a while, then others, with keys that become longer meanwhile, and what is not asked for of
// every length.
TEST_CASE("rows that say the same are passed over and none is lost", "[number_rows]") {
    const File file(
        "PRAGMA page_size = 512; CREATE TABLE t (k INTEGER PRIMARY KEY, flags INTEGER, other, more INTEGER);"
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
        " INSERT INTO t SELECT i * i - 5000000, CASE WHEN i / 500 % 3 = 0 THEN 0 WHEN i % 7 < 4 THEN i % 7"
        " END, iif(i % 400 = 0, 'a text that is longer than others', i * (i % 11)), i FROM n");
    const Database base(file.path());
    const auto rows = [&] { return NumberRows(base, "t", "k", {"flags"}); };
    size_t passed = 0;
    const Rows with = told(rows(), true, &passed);
    CHECK(with == told(rows(), false));
    CHECK(with.size() == 5);
    CHECK(passed > 5000);
    // What has bytes of its own, or is read from a key on, is read row by row.
    passed = 0;
    told(NumberRows(base, "t", "k", {"more"}), true, &passed);
    CHECK(passed < 10);
    passed = 0;
    told(NumberRows(base, "t", "k", {"flags"}, 0), true, &passed);
    CHECK(passed == 0);
}

// The second key is eight bytes shorter, and as far behind its row's begin stands what the first row says.
TEST_CASE("a row is where its own key ends", "[number_rows]") {
    const File file(
        "CREATE TABLE t (k INTEGER PRIMARY KEY, flags INTEGER, b BLOB);"
        "INSERT INTO t VALUES (-1, 0, x'0102'), (0, 1, x'0000000004000810')");
    const Database base(file.path());
    CHECK(told(NumberRows(base, "t", "k", {"flags"}), true) == Rows{"0 1", "1 1"});
}

TEST_CASE("where the file does not say all, a statement does", "[number_rows]") {
    const std::string key =
        GENERATE("k INTEGER PRIMARY KEY DESC", "k INT PRIMARY KEY", "k BIGINT", "x, k INTEGER");
    const File file("CREATE TABLE t (" + key + ", a INTEGER); INSERT INTO t (k, a) VALUES (1, 2), (3, NULL)");
    const Database base(file.path());
    NumberRows rows(base, "t", "k", {"a"});
    CHECK(!rows.is_from_pages());
    CHECK(all(std::move(rows), 1) == Rows{"1|2 ", "3| "});
}

TEST_CASE("rows that are still beside the file are read by a statement", "[number_rows]") {
    const File file("PRAGMA journal_mode = WAL; CREATE TABLE t (k INTEGER PRIMARY KEY, a INTEGER)");
    {
        const Database alone(file.path());
        CHECK(NumberRows(alone, "t", "k", {"a"}).is_from_pages());
    }
    sqlite3* writer = nullptr;
    REQUIRE(sqlite3_open(file.path().c_str(), &writer) == SQLITE_OK);
    REQUIRE(sqlite3_exec(writer, "INSERT INTO t VALUES (1, 2)", nullptr, nullptr, nullptr) == SQLITE_OK);
    {
        const Database beside(file.path());
        NumberRows rows(beside, "t", "k", {"a"});
        CHECK(!rows.is_from_pages());
        CHECK(all(std::move(rows), 1) == Rows{"1|2 "});
    }
    sqlite3_close(writer);
}

TEST_CASE("nobody changes a file while its pages are read", "[number_rows]") {
    const File file("CREATE TABLE t (k INTEGER PRIMARY KEY, a INTEGER); INSERT INTO t VALUES (1, 2)");
    sqlite3* writer = nullptr;
    REQUIRE(sqlite3_open(file.path().c_str(), &writer) == SQLITE_OK);
    const char* const change = "INSERT INTO t VALUES (2, 2)";
    {
        const Database base(file.path());
        NumberRows rows(base, "t", "k", {"a"});
        REQUIRE(rows.is_from_pages());
        CHECK(sqlite3_exec(writer, change, nullptr, nullptr, nullptr) == SQLITE_BUSY);
    }
    CHECK(sqlite3_exec(writer, change, nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(writer);
}

TEST_CASE("a damaged page ends in a failure, and never elsewhere", "[number_rows][random]") {
    const File file(kNumbers);
    const std::string whole = file.bytes();
    std::mt19937_64 random(4);
    int failed = 0;
    for (int round = 0; round < 150; ++round) {
        std::string bytes = whole;
        // Behind the first page, which SQLite itself reads.
        for (int i = 0; i < 400; ++i)
            bytes[512 + random() % (bytes.size() - 512)] = static_cast<char>(random());
        if (round % 3 == 0) bytes.resize(512 * (1 + random() % (bytes.size() / 512)));
        file.write(bytes);
        try {
            const Database base(file.path());
            const auto first = static_cast<int64_t>(random() % 100'000'000);
            all(NumberRows(base, "t", "k", kColumns, round % 2 == 0 ? INT64_MIN : first), 3);
            told(NumberRows(base, "t", "k", {"w"}), true);
        } catch (const Failure&) {
            ++failed;
        }
    }
    CHECK(failed > 50);
}

TEST_CASE("a tree that leads back to itself ends", "[number_rows]") {
    const File file(kNumbers);
    std::string bytes = file.bytes();
    constexpr size_t kRoot = 512;  // the second page
    REQUIRE(bytes[kRoot] == 5);
    for (int i = 0; i < 3; ++i) bytes[kRoot + 8 + static_cast<size_t>(i)] = 0;
    bytes[kRoot + 11] = 2;  // the right-most child is the root
    file.write(bytes);
    const Database base(file.path());
    const int64_t first = GENERATE(INT64_MIN, INT64_MAX);
    CHECK_THROWS_AS(all(NumberRows(base, "t", "k", kColumns, first), 3), Failure);
}

}  // namespace number_rows_test
