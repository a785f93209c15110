// Rows that reach a run some at a time: all of them, in their order, and none that is refused.
#include "analysis/run/sql/run_db.h"

#include <catch2/catch.hpp>

#include "analysis/process/temporary.h"

namespace many_rows_test {

using namespace gpushim::analysis;

TEST_CASE("many rows are there in the order in which they were added", "[many_rows]") {
    const int64_t count = GENERATE(0, 1, 15, 16, 17, 100);
    const TemporaryFolder folder;
    RunDb run(folder.path() / "run.db");
    ManyRows gaps(run, "gap");
    for (int64_t i = 0; i < count; ++i)
        gaps.add({int64_t{1}, int64_t{0}, "cause " + std::to_string(i), nullptr, i, int64_t{1}, i, i, i});
    gaps.end();
    gaps.end();  // there are no more
    Query rows(run.raw(), "run", "SELECT rowid, cause, blocked_on, ns FROM gap ORDER BY rowid");
    for (int64_t i = 0; i < count; ++i) {
        REQUIRE(rows.step());
        CHECK(rows.number(0) == i + 1);
        CHECK(rows.text(1) == "cause " + std::to_string(i));
        CHECK(rows.is_null(2));
        CHECK(rows.number(3) == i);
    }
    CHECK_FALSE(rows.step());
}

TEST_CASE("one of many rows that is there already is refused", "[many_rows]") {
    const int64_t again = GENERATE(0, 7, 19);
    const TemporaryFolder folder;
    RunDb run(folder.path() / "run.db");
    ManyRows rows(run, "activity");
    const auto add_all = [&] {
        for (int64_t step = 0; step < 20; ++step)
            rows.add({int64_t{1}, step == 12 ? again : step, int64_t{0}, int64_t{5}});
        rows.end();
    };
    CHECK_THROWS_AS(add_all(), RowRefused);
}

}  // namespace many_rows_test
