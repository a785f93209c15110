// How long steps are while a run is derived: the same as its views say, which are asked here.
#include "analysis/run/sql/step_lengths.h"

#include <catch2/catch.hpp>
#include <random>

#include "analysis/process/temporary.h"
#include "analysis/run/sql/counted_steps.h"
#include "analysis/run/sql/run_db.h"
#include "bare_rank.h"

namespace step_lengths_test {

using namespace made;

namespace {

// The rows of a query, each as a line.
std::string rows_of(const RunDb& run, const std::string& sql) {
    std::string all;
    Query query(run.raw(), "run", sql);
    while (query.step()) {
        for (int i = 0; i < query.columns(); ++i) all += query.text(i) + "|";
        all += "\n";
    }
    return all;
}

}  // namespace

TEST_CASE("lengths of steps, and their sums, are those of the views", "[step_lengths][random]") {
    std::mt19937 random(20261129);
    const auto up_to = [&](int64_t most) { return std::uniform_int_distribution<int64_t>(0, most)(random); };
    for (int round = 0; round < 20; ++round) {
        const TemporaryFolder folder;
        RunDb run(folder.path() / "run.db");
        ManyRows steps(run, "step");
        for (int64_t rank = 0; rank < 3; ++rank) {
            add_rank(run, rank, 1);
            for (int64_t step = 0; step < up_to(round < 2 ? 0 : 250); ++step)
                steps.add({rank, step, step, step * 1000, up_to(40), int64_t{0}, nullptr,
                           int64_t{up_to(9) == 0}, int64_t{up_to(9) == 0}, nullptr, int64_t{0}});
        }
        steps.end();
        run.run(up_to(1) == 0 ? "UPDATE rank SET steps_source = 'ranges'"
                              : "UPDATE rank SET steps_source = iif(rank_id = 1, 'none', 'detected')");
        const CountedSteps basis = run.derive();
        const auto told = [&](const std::string& metric) {
            return rows_of(
                run, "SELECT scope, id, value FROM metric WHERE name = '" + metric + "' ORDER BY scope, id");
        };
        const auto in_view = [&](const std::string& column) {
            return rows_of(
                run, "SELECT 'rank', r.rank_id, CAST(q." + column +
                         " AS REAL) FROM rank r LEFT JOIN main.v_step_length q ON q.rank_id = r.rank_id"
                         " UNION ALL SELECT 'run', 0, CAST(" +
                         column + " AS REAL) FROM main.v_step_length WHERE rank_id IS NULL ORDER BY 1, 2");
        };
        INFO("round " << round);
        CHECK(told("step_median_ns") == in_view("median_ns"));
        CHECK(told("step_p95_ns") == in_view("p95_ns"));
        const std::string sums = "SELECT rank_id, steps, dur_ns FROM ";
        CHECK(rows_of(run, sums + "step_sum ORDER BY 1") ==
              rows_of(run, sums + "main.v_step_sum ORDER BY 1"));
    }
}

}  // namespace step_lengths_test
