#include "shim/sqlite/rows.h"

#include <array>

#include <catch2/catch.hpp>

namespace rows_test {

using namespace gpushim::shim;

struct Row {
    static constexpr const char* kTable = "table";
    static constexpr std::array<std::string_view, 3> kTypes = {"INTEGER PRIMARY KEY", "TEXT NOT NULL",
                                                               "TEXT"};
    int64_t id, first, second;
};

TEST_CASE("the oldest rows go, and with them their texts", "[rows]") {
    RowsOf<Row> rows;
    for (int64_t i = 0; i < 10; ++i)
        rows.add({i, rows.text("a" + std::to_string(i)), i % 2 == 0 ? kNull : rows.text("b")});
    rows.erase_first(7);
    REQUIRE(rows.count() == 3);
    rows.drop_texts();
    CHECK(rows.text("next") == 5);
    for (size_t i = 0; i < 3; ++i) {
        CHECK(rows.row(i)[0] == static_cast<int64_t>(i) + 7);
        CHECK(*rows.text_of(1, rows.row(i)[1]) == "a" + std::to_string(i + 7));
    }
    CHECK(*rows.text_of(2, rows.row(0)[2]) == "b");
    CHECK(rows.row(1)[2] == kNull);
    rows.erase_last();
    CHECK(rows.count() == 2);
}

}  // namespace rows_test
