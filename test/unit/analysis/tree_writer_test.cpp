// Rows that are written straight into pages are those that SQLite reads, and SQLite finds nothing wrong.
#include "analysis/sqlite/tree_writer.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/process/temporary.h"
#include "analysis/sqlite/database.h"
#include "made_image.h"

namespace tree_writer_test {

using namespace gpushim::analysis;

namespace {

constexpr const char* kSchema =
    "CREATE TABLE a (k INTEGER PRIMARY KEY, n INTEGER, w TEXT);"
    "CREATE TABLE none (k INTEGER PRIMARY KEY);"
    "CREATE TABLE b (k INTEGER PRIMARY KEY, n INTEGER, w TEXT)";

struct Row {
    int64_t key;
    std::optional<int64_t> number;
    std::string text;
};

using RowAt = std::function<Row(int64_t)>;

void put(NewRecord& record, const Row& row) {
    record.clear();
    record.add_null();
    row.number ? record.add(*row.number) : record.add_null();
    record.add(row.text);
}

void check_rows(const Database& base, const std::string& table, int64_t count, const RowAt& row_at) {
    Query rows = base.prepare("SELECT k, n, w FROM " + table + " ORDER BY k");
    int64_t wrong = 0, i = 0;
    for (; rows.step(); ++i) {
        const Row row = row_at(i);
        wrong += rows.number(0) != row.key || rows.maybe(1) != row.number || rows.text(2) != row.text;
    }
    CHECK(i == count);
    CHECK(wrong == 0);
}

// Two tables, whose pages come in turns.
void check_written(int64_t count, const RowAt& row_at) {
    const TemporaryFolder folder;
    const auto place = folder.path() / "trees.db";
    const std::string image = made_image(kSchema);
    std::map<std::string, int64_t> roots;
    NewFile file(place);
    file.write(0, image);
    {
        const Database empty(file.path());
        Query root = empty.prepare("SELECT name, rootpage FROM sqlite_schema");
        while (root.step()) roots[root.text(0)] = root.number(1);
    }
    TreeWriter writer(file, image);
    const size_t a = writer.table(static_cast<uint32_t>(roots["a"]));
    const size_t b = writer.table(static_cast<uint32_t>(roots["b"]));
    NewRecord record;
    int64_t refused = 0;
    for (int64_t i = 0; i < count; ++i) {
        put(record, row_at(i));
        refused += !writer.add(a, row_at(i).key, record.bytes());
        if (i % 3 == 0) refused += !writer.add(b, row_at(i).key, record.bytes());
        if (i % 7 == 0) refused += writer.add(a, row_at(i).key, record.bytes());  // it is there
    }
    CHECK(refused == 0);
    writer.finish();
    file.move_to_place();
    const Database base(place);
    Query sound = base.prepare("PRAGMA integrity_check");
    REQUIRE(sound.step());
    CHECK(sound.text(0) == "ok");
    check_rows(base, "a", count, row_at);
    check_rows(base, "b", (count + 2) / 3, [&](int64_t i) { return row_at(3 * i); });
    check_rows(base, "(SELECT k, NULL AS n, '' AS w FROM none)", 0, row_at);
}

}  // namespace

TEST_CASE("rows that stand in pages of a tree are read as they were written", "[tree_writer]") {
    const auto row_at = [](int64_t i) {
        return Row{1'600'000'000'000'000'000 + i * 977, i % 5 == 0 ? std::nullopt : std::optional(i * i),
                   i % 3 == 0 ? "" : "text " + std::to_string(i)};
    };
    for (const int64_t count : {0, 1, 2, 100, 130, 150, 20'000}) {
        INFO(count);
        check_written(count, row_at);
    }
}

TEST_CASE("keys and numbers of every length are written", "[tree_writer]") {
    std::vector<int64_t> all;
    for (int bits = 62; bits >= 0; --bits)
        for (const int64_t off : {1, 0, -1}) all.push_back(-(int64_t{1} << bits) + off);
    all.insert(all.end(), {INT64_MIN, INT64_MAX, 0});
    for (int bits = 0; bits < 63; ++bits)
        for (const int64_t off : {-1, 0, 1}) all.push_back((int64_t{1} << bits) + off);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    check_written(static_cast<int64_t>(all.size()), [&](int64_t i) {
        const auto at = static_cast<size_t>(i);
        return Row{all[at], all[all.size() - 1 - at], "w"};
    });
}

// A root above pages that are above leaves: of such rows a leaf has eight.
TEST_CASE("a tree may be three pages high", "[tree_writer]") {
    check_written(4000, [](int64_t i) { return Row{i * 1000, i, std::string(480, 'x')}; });
}

// Around each place where more of a row goes on elsewhere.
TEST_CASE("a long row goes on in pages of its own", "[tree_writer]") {
    std::vector<size_t> lengths = {100'000};
    for (const size_t place : std::initializer_list<size_t>{4040, 4061, 8150, 12'240})
        for (size_t length = place; length < place + 30; ++length) lengths.push_back(length);
    check_written(static_cast<int64_t>(lengths.size()), [&](int64_t i) {
        return Row{i + 1, i, std::string(lengths[static_cast<size_t>(i)], static_cast<char>('a' + i % 26))};
    });
}

TEST_CASE("a record has the columns of a long row", "[tree_writer]") {
    NewRecord record;
    record.clear();
    for (int i = 0; i < 200; ++i) record.add_null();
    // The header's length takes two bytes, and counts them.
    CHECK(record.bytes().size() == 202);
    CHECK(static_cast<unsigned char>(record.bytes()[0]) == 0x81);
    CHECK(static_cast<unsigned char>(record.bytes()[1]) == 202 - 128);
}

}  // namespace tree_writer_test
