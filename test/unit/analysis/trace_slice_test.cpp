// A trace of which only what comes from some moment on is read (Trace::from_ns).
#include "analysis/process/temporary.h"
#include "analysis/run/busy/busy_part.h"
#include "analysis/run/pass/make_facts.h"
#include "analysis/run/pass/trace_pass.h"
#include "analysis/run/sql/run_db.h"
#include "made_trace.h"

#include <catch2/catch.hpp>

namespace trace_slice_test {

using namespace made;

namespace {

constexpr int64_t kUs = 1000;

// Steps of 100 us, marked; the first ten have a kernel of 20 us each, those behind them one of 80.
//
//  us      0     100   …   1000  1100  …   2000
//  marks   |     |         |     |         |
//  kernel   ██    ██        ████  ████
//  windows |───────────────|───────────────|
//  slice                         |─────────
Made two_windows() {
    Made made;
    for (int64_t i = 0; i <= 20; ++i)
        made.run("INSERT INTO marker VALUES (" + std::to_string(i * 100 * kUs) +
                 ", 1, 'step', NULL, 8, NULL, NULL, NULL, NULL, 0)");
    for (int64_t i = 0; i < 20; ++i) {
        const int64_t enter_ns = 100 * i * kUs + 1, length_ns = (i < 10 ? 20 : 80) * kUs;
        made.timed(enter_ns, enter_ns + 1, enter_ns + 2, enter_ns + 2 + length_ns, 3);
    }
    made.window(0, 1000 * kUs, 10, 10);
    made.window(1000 * kUs, 2000 * kUs, 10, 10);
    made.ends(2000 * kUs);
    return made;
}

Trace slice_of(Made& made, int64_t from_ns) {
    Trace trace = std::move(const_cast<Inputs&>(made.inputs()).traces[0]);
    trace.from_ns = from_ns;
    return trace;
}

}  // namespace

TEST_CASE("of a slice calls, windows and steps from its begin on are read", "[slice]") {
    Made made = two_windows();
    const Trace trace = slice_of(made, 1100 * kUs);
    Timeline timeline(trace);
    Call call;
    REQUIRE(timeline.next(call));
    CHECK(call.enter_ns == 1100 * kUs + 1);
    REQUIRE(timeline.windows().size() == 1);
    CHECK(timeline.windows()[0].enter_ns == 1100 * kUs);
    CHECK(timeline.windows()[0].end_ns() == 2000 * kUs);
    CHECK(timeline.windows()[0].operations == 9);

    int64_t next_gpu = 0;
    TraceFacts facts = make_facts(trace, 0, next_gpu, {});
    find_steps(facts);
    REQUIRE(!facts.steps.empty());
    CHECK(facts.steps.front().begin_ns == 1100 * kUs);
}

TEST_CASE("a slice says what its GPUs did in it, by the parts that are asked alone", "[slice]") {
    Made made = two_windows();
    const Trace trace = slice_of(made, 1100 * kUs);
    int64_t next_gpu = 0;
    TraceFacts facts = make_facts(trace, 0, next_gpu, {});
    find_steps(facts);
    const TemporaryFolder folder;
    RunDb run(folder.path() / "run.db");
    std::vector<std::unique_ptr<Part>> parts;
    parts.push_back(make_busy_part(facts));
    pass_over(facts, {}, run, std::move(parts));
    Query busy(run.raw(), "run", "SELECT 100 * sum(ns) FILTER (WHERE classes > 0) / sum(ns) FROM activity");
    REQUIRE(busy.step());
    CHECK(busy.number(0) == 80);  // of the whole trace: 50
    Query others(run.raw(), "run", "SELECT count(*) FROM kernel");
    REQUIRE(others.step());
    CHECK(others.number(0) == 0);
}

TEST_CASE("a slice may end before its window does", "[slice]") {
    Made made = two_windows();
    Trace trace = slice_of(made, 1100 * kUs);
    trace.windows_until_ns = 1500 * kUs;
    Timeline timeline(trace);
    REQUIRE(timeline.windows().size() == 1);
    CHECK(timeline.windows()[0].enter_ns == 1100 * kUs);
    CHECK(timeline.windows()[0].end_ns() == 1500 * kUs);
    CHECK(timeline.windows()[0].operations == 4);
}

TEST_CASE("without a begin all of a trace is read", "[slice]") {
    Made made = two_windows();
    const Trace trace = slice_of(made, INT64_MIN);
    CHECK(Timeline(trace).windows().size() == 2);
}

}  // namespace trace_slice_test
