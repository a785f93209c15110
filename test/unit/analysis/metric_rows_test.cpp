// What is derived in SQL: every metric has a definition, and a value or a why; figures are those of the
// report.
#include <catch2/catch.hpp>

#include "bare_rank.h"
#include "made_run.h"

namespace metric_rows_test {

using namespace made;

namespace {

int64_t count(const Database& run, const std::string& sql) {
    Query query = run.prepare(sql);
    query.step();
    return query.number(0);
}

double metric(const Database& run, const char* name, const char* scope, int64_t id) {
    Query query = run.prepare("SELECT value FROM metric WHERE name = ?1 AND scope = ?2 AND id = ?3");
    query.bind(1, std::string(name));
    query.bind(2, std::string(scope));
    query.bind(3, id);
    return query.step() && !query.is_null(0) ? query.real(0) : -1;
}

}  // namespace

TEST_CASE("metrics have what their rows say", "[metric_rows]") {
    const MadeRun made;
    const Database run = made.open();
    CHECK(metric(run, "busy_share", "gpu", 0) == Approx(0.66));
    CHECK(metric(run, "productive_share", "gpu", 0) == Approx(0.4268));
    CHECK(metric(run, "waiting_for_peer_share", "gpu", 0) == Approx(0.06));
    CHECK(metric(run, "waiting_for_peer_share", "gpu", 1) == 0);
    CHECK(metric(run, "idle_share", "gpu", 0) == Approx(0.34));
    CHECK(metric(run, "idle_input_share", "gpu", 0) == Approx(0.24));
    CHECK(metric(run, "idle_launch_share", "gpu", 0) == Approx(0.06));
    CHECK(metric(run, "idle_wait_share", "gpu", 0) == 0);
    CHECK(metric(run, "run_busy_share", "gpu", 0) == Approx(0.62));
    CHECK(metric(run, "overlap_share", "gpu", 0) == 0);
    CHECK(metric(run, "step_median_ns", "run", 0) == 20'000'000);
    CHECK(metric(run, "step_p95_ns", "rank", 1) == 21'300'000);
    CHECK(metric(run, "step_count", "run", 0) == 380);
    CHECK(metric(run, "samples_per_s", "run", 0) == -1);
    CHECK(metric(run, "launch_latency_p50_ns", "gpu", 1) == 8000);
    CHECK(metric(run, "small_kernel_share", "gpu", 0) == Approx(184.0 / 412));
    CHECK(metric(run, "eligible_share", "gpu", 0) == Approx(0.71));
    CHECK(metric(run, "tensor_core_unknown_share", "gpu", 0) == Approx(4.0 / 71));
    CHECK(metric(run, "allreduce_ratio_to_params", "run", 0) == 1);
    CHECK(metric(run, "straggler_saved_ns", "run", 0) == 1'200'000);
    CHECK(metric(run, "sequential_index", "run", 0) == Approx(0.02));
    CHECK(count(run,
                "SELECT count(*) FROM metric_interval WHERE name = 'idle_share' AND id = 0"
                " AND abs(low - 0.334) < 1e-9 AND abs(high - 0.346) < 1e-9") == 1);
}

TEST_CASE("every definition has its rows, and every row a value or a why", "[metric_rows]") {
    for (const bool full : {true, false}) {
        RunShape shape;
        shape.device_times = shape.steps = shape.collectives = full;
        const MadeRun made(shape);
        const Database run = made.open();
        CHECK(count(run,
                    "SELECT count(*) FROM metric_definition WHERE name NOT IN (SELECT name FROM metric)") ==
              0);
        CHECK(count(run, "SELECT count(*) FROM metric WHERE (value IS NULL) <> (why IS NOT NULL)") == 0);
        CHECK(count(run,
                    "SELECT count(*) FROM metric WHERE name NOT IN (SELECT name FROM metric_definition)") ==
              0);
        CHECK(count(run,
                    "SELECT count(*) FROM metric_interval i JOIN metric m USING (name, scope, id)"
                    " WHERE m.value NOT BETWEEN i.low AND i.high") == 0);
    }
}

namespace {

void add_step(RunDb& run, int64_t rank, int64_t step, int64_t dur_ns, const Value& samples) {
    run.add("step", {rank, step, step, int64_t{0}, dur_ns, int64_t{1}, samples, int64_t{0}, int64_t{0},
                     nullptr, int64_t{0}});
}

}  // namespace

// Steps of 1 to 100 ns: the 50th and the 95th. Of a GPU nothing is known but that it is there.
TEST_CASE("percentiles are values that there are, and nothing known is said with a why", "[metric_rows]") {
    const TemporaryFolder folder;
    const auto place = folder.path() / "run.db";
    {
        RunDb run(place);
        add_rank(run, 0, 1);
        for (int64_t step = 0; step < 100; ++step) add_step(run, 0, step, (step * 37) % 100 + 1, nullptr);
        add_known(run.raw(), "gpu",
                  {{"gpu_id", 0},
                   {"rank_id", 0},
                   {"device_id", 0},
                   {"uuid", std::string("GPU-0")},
                   {"name", std::string("Made")},
                   {"simulated", 0},
                   {"level", std::string("events")}});
        run.finish();
    }
    const Database run(place);
    for (const char* scope : {"run", "rank"}) {
        CHECK(metric(run, "step_median_ns", scope, 0) == 50);
        CHECK(metric(run, "step_p95_ns", scope, 0) == 95);
    }
    CHECK(count(run, "SELECT count(*) FROM metric WHERE (value IS NULL) <> (why IS NOT NULL)") == 0);
    const Report report = write_report({run});
    CHECK(value(report, "steps.median_ns") == "50");
    CHECK(value(report, "steps.p95_ns") == "95");
    CHECK(unexplained(report) == "");
}

TEST_CASE("samples that ranks counted are added up", "[metric_rows]") {
    const TemporaryFolder folder;
    const auto place = folder.path() / "run.db";
    {
        RunDb run(place);
        // Two ranks, three steps of 10, 20 and 40 ms; 8 samples on one and 24 on the other.
        for (int64_t rank : {0, 1}) {
            add_rank(run, rank, 2);
            for (int64_t step : {0, 1, 2})
                add_step(run, rank, step, int64_t{10'000'000} << step, rank == 0 ? int64_t{8} : int64_t{24});
        }
        run.finish();
    }
    const Database run(place);
    CHECK(metric(run, "samples_per_s", "run", 0) == Approx(3 * 32 / 0.070));
    const Report report = write_report({run});
    CHECK(std::stod(value(report, "steps.samples_per_s")) == Approx(3 * 32 / 0.070));
    CHECK(unexplained(report) == "");
}

}  // namespace metric_rows_test
