// Rows that go straight into pages while SQLite writes others are those that statements would have written,
// whatever comes, and SQLite finds nothing wrong.
#include "analysis/sqlite/row_trees.h"

#include <sqlite3.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analysis/process/temporary.h"
#include "analysis/sqlite/database.h"
#include "files_at_most.h"
#include "made_image.h"

namespace row_trees_test {

using namespace gpushim::analysis;
using made::FilesAtMost;

namespace {

constexpr const char* kSchema =
    "CREATE TABLE keyed (a INTEGER, b TEXT, n INTEGER, r REAL, t TEXT, x, PRIMARY KEY (a, b)) WITHOUT ROWID;"
    "CREATE TABLE numbered (g INTEGER, s INTEGER, t TEXT, r REAL, x);"
    "CREATE INDEX of_numbered ON numbered (g, s);"
    "CREATE TABLE short (k INTEGER, PRIMARY KEY (k)) WITHOUT ROWID;"
    "CREATE TABLE strict (n INTEGER NOT NULL);"
    "CREATE TABLE none (k INTEGER, PRIMARY KEY (k)) WITHOUT ROWID;"
    "CREATE TABLE other (k INTEGER PRIMARY KEY, w TEXT UNIQUE)";

// Of the tables above; a copy of what its texts say.
struct Row {
    const char* table;
    std::vector<Value> values;
};
using Rows = std::vector<Row>;

Row keyed(int64_t a, std::string b, Value n, Value r, Value t, Value x) {
    return {"keyed", {a, std::move(b), std::move(n), std::move(r), std::move(t), std::move(x)}};
}
Row numbered(Value g, Value s, Value t, Value r, Value x) {
    return {"numbered", {std::move(g), std::move(s), std::move(t), std::move(r), std::move(x)}};
}

PlainValue plain_of(const Value& value) {
    struct View {
        PlainValue operator()(std::nullptr_t) const { return nullptr; }
        PlainValue operator()(int64_t number) const { return number; }
        PlainValue operator()(double real) const { return real; }
        PlainValue operator()(const std::string& text) const { return std::string_view(text); }
        PlainValue operator()(const Blob& blob) const { return BlobView{blob.bytes}; }
    };
    return std::visit(View{}, value);
}

struct NewBase {
    explicit NewBase(const std::filesystem::path& place) : made(place, made_image(kSchema)) {
        made.run("BEGIN");
    }
    void by_statement(const Row& row) {
        sqlite3_stmt* statement = made.row_of(row.table, row.values.size());
        for (size_t i = 0; i < row.values.size(); ++i) {
            const PlainValue value = plain_of(row.values[i]);
            const int at = static_cast<int>(i) + 1;
            const auto size = [](std::string_view bytes) { return static_cast<int>(bytes.size()); };
            sqlite3_bind_null(statement, at);
            if (const auto* number = std::get_if<int64_t>(&value)) sqlite3_bind_int64(statement, at, *number);
            if (const auto* real = std::get_if<double>(&value)) sqlite3_bind_double(statement, at, *real);
            if (const auto* text = std::get_if<std::string_view>(&value))
                sqlite3_bind_text(statement, at, text->data(), size(*text), SQLITE_TRANSIENT);
            if (const auto* blob = std::get_if<BlobView>(&value))
                sqlite3_bind_blob(statement, at, blob->bytes.data(), size(blob->bytes), SQLITE_TRANSIENT);
        }
        made.put_row(statement);
    }
    void finish() {
        made.run("COMMIT");
        made.move_to_place();
    }
    NewDatabase made;
};

std::vector<PlainValue> plain_of(const Row& row) {
    std::vector<PlainValue> values;
    for (const Value& value : row.values) values.push_back(plain_of(value));
    return values;
}

// In how many rows from the first one on the pages were used.
size_t write_by_pages(NewBase& base, RowTrees& trees, const Rows& rows) {
    size_t in_pages = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
        const std::vector<PlainValue> values = plain_of(rows[i]);
        if (trees.add(trees.table(rows[i].table), values))
            ++in_pages;
        else
            base.by_statement(rows[i]);
    }
    return in_pages;
}

std::vector<std::string> lines_of(const Database& base, const std::string& query) {
    std::vector<std::string> lines;
    for (Query row = base.prepare(query); row.step();) lines.push_back(row.text(0));
    return lines;
}

void check_alike(const std::filesystem::path& by_pages, const std::filesystem::path& by_statements) {
    const Database one(by_pages), other(by_statements);
    CHECK(lines_of(one, "PRAGMA integrity_check") == std::vector<std::string>{"ok"});
    // What quote() says of a real is short of digits; the last one is found by the index alone.
    for (const char* query :
         {"SELECT quote(a)||quote(b)||quote(n)||typeof(r)||quote(r)||quote(t)||quote(x) FROM keyed",
          "SELECT rowid||','||quote(g)||quote(s)||typeof(r)||quote(r)||quote(t)||quote(x) FROM numbered",
          "SELECT a FROM keyed ORDER BY a DESC, b DESC", "SELECT k FROM short", "SELECT k FROM none",
          "SELECT k||w FROM other", "SELECT count(*) FROM other WHERE w >= ''",
          "SELECT s||','||rowid FROM numbered INDEXED BY of_numbered WHERE g >= 0 AND s = 7"}) {
        INFO(query);
        CHECK(lines_of(one, query) == lines_of(other, query));
    }
    Query join =
        one.prepare("SELECT count(*), count(n.b) FROM keyed k LEFT JOIN keyed n ON n.a = k.a AND n.b = k.b");
    REQUIRE(join.step());
    CHECK(join.number(0) == join.number(1));  // each is found by its key
}

// How many of them went into pages.
size_t check_written(const Rows& rows) {
    const TemporaryFolder folder;
    const auto by_pages = folder.path() / "pages.db", by_statements = folder.path() / "statements.db";
    size_t in_pages = 0;
    {
        NewBase base(by_pages), other(by_statements);
        RowTrees trees(base.made);
        in_pages = write_by_pages(base, trees, rows);
        trees.settle();
        for (const Row& row : rows) other.by_statement(row);
        base.finish();
        other.finish();
    }
    check_alike(by_pages, by_statements);
    return in_pages;
}

// Rows of all kinds, with those of a table that SQLite writes between them.
Rows rows_of_all_kinds(int64_t count) {
    const std::vector<Value> reals = {0.0, 0.5, -3.0, 1e300, -1e-300, nullptr, 7.0, double(int64_t{1} << 50)};
    const std::vector<Value> all = {nullptr, int64_t{-5}, 2.0, -0.25, std::string("text"), Blob{"\0\1z"}};
    const auto one_of = [](const std::vector<Value>& values, int64_t i) {
        return values[static_cast<size_t>(i) % values.size()];
    };
    Rows rows;
    for (int64_t i = 0; i < count; ++i) {
        const int64_t number = (i % 2 == 0 ? 1 : -1) * (int64_t{1} << (i % 63));
        const Value text = i % 5 == 0 ? Value(nullptr) : Value(std::string(size_t(i % 40), 'x'));
        rows.push_back(keyed(i / 4 - 3, std::string("k") + "aceg"[i & 3], number, one_of(reals, i), text,
                             one_of(all, i)));
        rows.push_back(numbered(i / 50, i / 5, text, one_of(reals, i / 3), one_of(all, i / 2)));
        rows.push_back({"short", {i}});
        if (i % 3 == 0) rows.push_back({"other", {i, "w" + std::to_string(i * 7919 % 100'003)}});
    }
    return rows;
}

size_t of_others(const Rows& rows) {
    size_t count = 0;
    for (const Row& row : rows) count += std::string_view(row.table) == "other";
    return count;
}

}  // namespace

TEST_CASE("rows of all kinds stand in pages as statements write them", "[row_trees]") {
    for (const int64_t count : {0, 1, 2, 60, 140, 160, 1'000, 30'000}) {
        INFO(count);
        const Rows rows = rows_of_all_kinds(count);
        CHECK(check_written(rows) == rows.size() - of_others(rows));
    }
}

// A page holds four of them, so there are three pages above each other, and more wait than are kept.
TEST_CASE("keys may be long", "[row_trees]") {
    Rows rows;
    for (int64_t i = 0; i < 6'000; ++i)
        rows.push_back(keyed(i, std::string(size_t(900 + i % 50), 'k'), i, nullptr, nullptr, nullptr));
    CHECK(check_written(rows) == rows.size());
}

TEST_CASE("rows that are not for pages are written by statements, as all behind them", "[row_trees]") {
    const auto in_the_middle = [](const Row& row) {
        Rows rows = rows_of_all_kinds(1'000);
        rows.insert(rows.begin() + 1'700, row);
        const size_t others = of_others(Rows(rows.begin(), rows.begin() + 1'700));
        CHECK(check_written(rows) == 1'700 - others);
    };
    const Value none = nullptr;
    in_the_middle(keyed(1, "b", none, none, none, none));  // in front of the last
    in_the_middle(keyed(100'000, std::string(2'000, 'k'), none, none, none, none));
    in_the_middle(keyed(100'000, "k", std::string("12"), none, none, none));  // becomes a number
    in_the_middle(keyed(100'000, "k", none, none, int64_t{12}, none));        // becomes a text
    in_the_middle(keyed(100'000, "k", none, int64_t{12}, none, none));        // becomes a real
    in_the_middle(keyed(100'000, "k", none, std::nan(""), none, none));       // becomes NULL
    in_the_middle({"keyed", {int64_t{100'000}, Blob{"k"}, none, none, none, none}});
    in_the_middle(numbered(int64_t{-1}, int64_t{0}, none, none, none));
    in_the_middle(numbered(none, int64_t{0}, none, none, none));
    in_the_middle(numbered(int64_t{100'000}, int64_t{0}, std::string(5'000, 't'), none, none));
}

TEST_CASE("texts stand behind numbers, and texts by their bytes", "[row_trees]") {
    const auto text = [](std::string words) {
        return numbered(std::move(words), int64_t{1}, nullptr, nullptr, nullptr);
    };
    // A column of numbers keeps a text that is none; but only SQLite says so.
    CHECK(check_written({numbered(int64_t{5}, int64_t{1}, nullptr, nullptr, nullptr), text("a")}) == 1);
    Rows rows;
    for (const char* b : {"", "A", "AB", "B", "a", "\x7f", "\xc3\xa4"})
        rows.push_back(keyed(1, b, nullptr, nullptr, nullptr, nullptr));
    CHECK(check_written(rows) == rows.size());
}

TEST_CASE("a row that is there already, or lacks what it needs, is refused", "[row_trees]") {
    const TemporaryFolder folder;
    const Value none = nullptr;
    for (const Row& again :
         {keyed(1, "b", none, none, none, none), keyed(2, "b", none, none, none, none),
          Row{"keyed", {none, std::string("c"), none, none, none, none}}, Row{"strict", {none}}}) {
        NewBase base(folder.path() / "pages.db");
        RowTrees trees(base.made);
        Rows rows;
        for (const int64_t a : {1, 2}) rows.push_back(keyed(a, "b", none, none, none, none));
        CHECK(write_by_pages(base, trees, rows) == 2);
        CHECK_THROWS_AS(write_by_pages(base, trees, {again}), RowRefused);
    }
}

TEST_CASE("tables that have rows, or are made in another way, are left to statements", "[row_trees]") {
    const TemporaryFolder folder;
    NewBase base(folder.path() / "pages.db");
    base.by_statement({"short", {int64_t{4}}});
    base.made.run(
        "CREATE TEMP TABLE temporary (k INTEGER, PRIMARY KEY (k)) WITHOUT ROWID;"
        "CREATE TABLE by_index (a INTEGER, b INTEGER, PRIMARY KEY (a)) WITHOUT ROWID;"
        "CREATE INDEX of_by_index ON by_index (b);"
        "CREATE TABLE downwards (a INTEGER, PRIMARY KEY (a DESC)) WITHOUT ROWID;"
        "CREATE TABLE in_any_case (a TEXT COLLATE NOCASE, PRIMARY KEY (a)) WITHOUT ROWID;"
        "CREATE TABLE of_some (a INTEGER); CREATE INDEX of_of_some ON of_some (a) WHERE a > 5;"
        "CREATE TABLE made (a INTEGER, b INTEGER AS (a + 1));"
        "CREATE TABLE numeric (a NUMERIC);"
        "CREATE TABLE checked (a INTEGER CHECK (a > 0));"
        "CREATE TABLE watched (a INTEGER);"
        "CREATE TRIGGER watch AFTER INSERT ON watched BEGIN DELETE FROM numeric; END");
    RowTrees trees(base.made);
    for (const char* table : {"short", "other", "temporary", "by_index", "downwards", "in_any_case",
                              "of_some", "made", "numeric", "checked", "watched", "not there"}) {
        INFO(table);
        CHECK(trees.table(table) == RowTrees::kNoTree);
    }
    const std::vector<PlainValue> row = {int64_t{5}};
    CHECK_FALSE(trees.add(trees.table("short"), row));
    CHECK(trees.add(trees.table("none"), row));  // which is no reason to leave other tables
}

TEST_CASE("pages wait while a statement reads", "[row_trees]") {
    const TemporaryFolder folder;
    const auto by_pages = folder.path() / "pages.db", by_statements = folder.path() / "statements.db";
    Rows rows;
    for (int64_t i = 0; i < 10'000; ++i) {
        rows.push_back(numbered(i / 10, i % 10, std::string(900, 't'), nullptr, i));
        rows.push_back({"other", {i, "w" + std::to_string(i) + std::string(100, 'w')}});
    }
    {
        NewBase base(by_pages), other(by_statements);
        base.by_statement({"other", {int64_t{-2}, std::string("a")}});
        base.by_statement({"other", {int64_t{-1}, std::string("b")}});
        RowTrees trees(base.made);
        {
            Query reads(base.made.raw(), "pages", "SELECT w FROM other ORDER BY k");
            REQUIRE(reads.step());
            const Rows first(rows.begin(), rows.begin() + std::ptrdiff_t(rows.size() / 2));
            write_by_pages(base, trees, first);
            CHECK(std::filesystem::file_size(base.made.file().path()) < 3 << 20);
            REQUIRE(reads.step());
            CHECK(reads.text(0) == "b");
        }
        write_by_pages(base, trees, Rows(rows.begin() + std::ptrdiff_t(rows.size() / 2), rows.end()));
        CHECK(std::filesystem::file_size(base.made.file().path()) > 8 << 20);  // not in memory
        trees.settle();
        for (const Row& row : rows) other.by_statement(row);
        base.by_statement({"other", {int64_t{-3}, std::string("c")}});
        base.made.run("DELETE FROM other WHERE k < 0");
        base.finish();
        other.finish();
    }
    check_alike(by_pages, by_statements);
}

// No row may stand on the page of SQLite's locks, a GiB behind the begin. What is between is never written.
TEST_CASE("pages go on behind that of SQLite's locks", "[row_trees]") {
    const TemporaryFolder folder;
    const auto place = folder.path() / "pages.db";
    constexpr int64_t kRows = 30'000, kLockPage = (int64_t{1} << 30) / 4096 + 1;
    {
        NewBase base(place);
        base.made.run("COMMIT");
        const std::string changes = {0, 0, 7, 7};
        base.made.file().write(size_t(kLockPage - 20) * 4096 - 1, std::string(1, '\0'));
        base.made.file().write(28, {"\x00\x03\xff\xed", 4});  // twenty before it
        for (const size_t at : {size_t{24}, size_t{92}}) base.made.file().write(at, changes);
        base.made.run("BEGIN");
        RowTrees trees(base.made);
        for (int64_t k = 0; k < kRows; ++k) trees.add(trees.table("short"), std::vector<PlainValue>{k});
        trees.settle();
        base.finish();
    }
    const Database base(place);
    Query rows = base.prepare("SELECT count(*), min(k), max(k), sum(k) FROM short");
    REQUIRE(rows.step());
    CHECK(rows.number(0) == kRows);
    CHECK(rows.number(3) == kRows * (kRows - 1) / 2);
    Query pages = base.prepare("PRAGMA page_count");
    REQUIRE(pages.step());
    CHECK(pages.number(0) > kLockPage + 10);
}

TEST_CASE("where pages could not be written, nobody writes behind them", "[row_trees]") {
    const TemporaryFolder folder;
    NewBase base(folder.path() / "pages.db");
    RowTrees trees(base.made);
    const size_t table = trees.table("short");
    constexpr int64_t kRows = 30'000;
    for (int64_t k = 0; k < kRows; ++k) REQUIRE(trees.add(table, std::vector<PlainValue>{k}));
    const FilesAtMost full(std::filesystem::file_size(base.made.file().path()) + 8 * 4096);
    CHECK_THROWS_AS(trees.settle(), Unwritable);
    CHECK_THROWS_AS(trees.settle(), Unwritable);
    CHECK_THROWS_AS(trees.add(table, std::vector<PlainValue>{kRows}), Unwritable);
}

}  // namespace row_trees_test
