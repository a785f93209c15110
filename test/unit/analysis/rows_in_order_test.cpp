// Rows of a run that go into its pages: who asks for them finds all, and none twice.
#include <catch2/catch.hpp>

#include "analysis/process/temporary.h"
#include "analysis/run/sql/run_db.h"

namespace rows_in_order_test {

using namespace gpushim::analysis;

namespace {

struct NewRun {
    TemporaryFolder folder;
    RunDb run{folder.path() / "run.db"};
};

void add_gaps(RunDb& run, int64_t gpu_id, int64_t count) {
    RowsInOrder gaps(run, "gap");
    for (int64_t i = 0; i < count; ++i)
        gaps.add({gpu_id, i, "cause", "", i, int64_t{1}, nullptr, nullptr, nullptr});
    gaps.end();
}

void add_activity(RunDb& run, int64_t gpu_id, std::initializer_list<int64_t> steps) {
    RowsInOrder rows(run, "activity");
    for (const int64_t step : steps) rows.add({gpu_id, step, int64_t{0}, int64_t{5}});
    rows.end();
}

int64_t first_of(sqlite3* run, const char* query) {
    Query row(run, "run", query);
    return row.step() ? row.number(0) : -1;
}

}  // namespace

TEST_CASE("rows in order are there when the run is asked for them", "[rows_in_order]") {
    NewRun made;
    add_gaps(made.run, 1, 3);
    CHECK(first_of(made.run.raw_in_turn(), "SELECT count(*) FROM gap") == 0);
    CHECK(first_of(made.run.raw(), "SELECT count(*) FROM gap") == 3);
    add_gaps(made.run, 2, 3);  // from now on by statements
    CHECK(first_of(made.run.raw(), "SELECT max(rowid) FROM gap WHERE gpu_id = 2") == 6);
}

TEST_CASE("rows in order are there for statements, and at the end of ranks", "[rows_in_order]") {
    const bool by_end = GENERATE(true, false);
    NewRun made;
    add_gaps(made.run, 1, 3);
    if (by_end)
        made.run.end_ranks();
    else
        made.run.run("DELETE FROM gap WHERE step = 0");
    CHECK(first_of(made.run.raw_in_turn(), "SELECT count(*) FROM gap") == (by_end ? 3 : 2));
}

TEST_CASE("a row of the same table that is added alone is behind them", "[rows_in_order]") {
    NewRun made;
    add_gaps(made.run, 1, 3);
    const bool is_one_of_many = GENERATE(true, false);
    if (is_one_of_many) {
        ManyRows gaps(made.run, "gap");
        gaps.add({int64_t{7}, int64_t{0}, "cause", "", int64_t{1}, int64_t{1}, nullptr, nullptr, nullptr});
        gaps.end();
    } else {
        made.run.add("gap", {int64_t{7}, int64_t{0}, std::string("cause"), std::string(), int64_t{1},
                             int64_t{1}, nullptr, nullptr, nullptr});
    }
    CHECK(first_of(made.run.raw(), "SELECT rowid FROM gap WHERE gpu_id = 7") == 4);
}

TEST_CASE("rows of others between them change nothing", "[rows_in_order]") {
    NewRun made;
    add_activity(made.run, 1, {1, 2});
    for (int64_t i = 0; i < 500; ++i) made.run.add("run", {"key " + std::to_string(i), i});
    add_activity(made.run, 2, {1, 2, 3});
    made.run.add("unlike_steps", {int64_t{5}});
    CHECK(first_of(made.run.raw(), "SELECT count(*) FROM activity WHERE gpu_id = 2") == 3);
    CHECK(first_of(made.run.raw(), "SELECT sum(value) FROM run") == 499 * 250);
    Query sound(made.run.raw(), "run", "PRAGMA integrity_check");
    REQUIRE(sound.step());
    CHECK(sound.text(0) == "ok");
}

TEST_CASE("in whatever order rows come, they are there, and twice is refused", "[rows_in_order]") {
    NewRun made;
    add_activity(made.run, 1, {4, 5, 2, 3, 9});
    CHECK(first_of(made.run.raw(), "SELECT count(*) FROM activity") == 5);
    for (const bool comes_next : {true, false}) {
        NewRun other;
        CHECK_THROWS_AS(add_activity(other.run, 1,
                                     comes_next ? std::initializer_list<int64_t>{4, 4}
                                                : std::initializer_list<int64_t>{4, 5, 4}),
                        RowRefused);
    }
}

TEST_CASE("of a GPU that is kept the number of its first gap is known", "[rows_in_order]") {
    NewRun made;
    const bool is_asked_before = GENERATE(false, true);
    for (const int64_t gpu_id : {0, 1}) {
        if (is_asked_before) made.run.raw();
        add_gaps(made.run, gpu_id, 4);
        WrittenGpu gpu = {gpu_id};
        gpu.gaps.resize(4);
        made.run.keep(std::move(gpu));
    }
    REQUIRE(made.run.written().gpus.size() == 2);
    CHECK(made.run.written().gpus[0].first_gap == 1);
    CHECK(made.run.written().gpus[1].first_gap == 5);
}

}  // namespace rows_in_order_test
