// Causes of idle time, and the program's own ranges. Times in microseconds; l is 5.
#include "analysis/idle/attribute.h"

#include "idle_scene.h"

#include <catch2/catch.hpp>

namespace idle_ranges_test {

using namespace idle_scene;

namespace {

// One range on the thread, from here to there.
struct Range {
    int64_t from_us, until_us;
    PythonDoes does;
};

constexpr int64_t kOpen = 1'000'000;
constexpr int32_t kRange = 7;

//  GPU     ██100|                                    |3205██        N: the copy of the batch
//  thread  L54 ──row, it runs────────────────────3200┌N┐3204
//  range           |──────────────|3100
Scene before_batch(const Range& range) {
    Scene scene;
    scene.launch(50, 54).row(54, 3200, 3146).launch(3200, 3204).gap_before(100, 3205, 3200, 3204);
    scene.input_copy_at(3200).gap.next->is_copy_h2d = true;
    scene.facts.range_at = [range](int64_t thread, int64_t t_ns, int64_t launch_ns) {
        RangeHere here;
        if (thread != kThread || t_ns >= range.until_us * kUs) return here;
        here.until_ns = (t_ns < range.from_us * kUs ? range.from_us : range.until_us) * kUs;
        if (t_ns < range.from_us * kUs) return here;
        here.range = kRange;
        here.does = range.does;
        here.is_over = here.told_is_over = range.until_us * kUs <= launch_ns;
        return here;
    };
    return scene;
}

using Ranges = std::vector<OwnRangePart>;
OwnRangePart in_range(Cause cause, int64_t from_us, int64_t until_us, bool is_over) {
    return {cause, from_us * kUs, until_us * kUs, kRange, is_over};
}

}  // namespace

TEST_CASE("before a batch, the name of a range tells what the host does", "[idle][idle_ranges]") {
    const Scene logs = before_batch({60, 3100, PythonDoes::calls_back});
    CHECK(logs.pieces() == Pieces{is(Cause::callback, 100, 3105), is(Cause::input_cpu, 3105, 3205)});
    CHECK(logs.ask().ranges == Ranges{in_range(Cause::callback, 100, 3105, true)});
    CHECK(before_batch({60, 3100, PythonDoes::loads}).pieces() ==
          Pieces{is(Cause::input_loading, 100, 3105), is(Cause::input_cpu, 3105, 3205)});
    CHECK(before_batch({60, 3100, PythonDoes::optimizes}).pieces().front() ==
          is(Cause::optimizer, 100, 3105));
}

TEST_CASE("a range whose name tells nothing changes no cause", "[idle][idle_ranges]") {
    const Scene scene = before_batch({60, 3100, PythonDoes::untold});
    CHECK(scene.pieces() == Pieces{is(Cause::input_cpu, 100, 3205)});
    CHECK(scene.ask().ranges == Ranges{in_range(Cause::input_cpu, 100, 3105, true)});
}

//  range           |──────────────────────────────────────────────   around the copy, and maybe all of the
//  program
TEST_CASE("of a range that goes on, only a loader's name tells", "[idle][idle_ranges]") {
    const Scene all = before_batch({60, kOpen, PythonDoes::calls_back});
    CHECK(all.pieces() == Pieces{is(Cause::input_cpu, 100, 3205)});
    CHECK(all.ask().ranges == Ranges{in_range(Cause::input_cpu, 100, 3205, false)});
    CHECK(before_batch({60, kOpen, PythonDoes::loads}).pieces() ==
          Pieces{is(Cause::input_loading, 100, 3205)});
    Scene no_copy = before_batch({60, kOpen, PythonDoes::loads});
    no_copy.facts.is_input_copy = {};
    CHECK(no_copy.pieces() == Pieces{is(Cause::host_cpu, 100, 3205)});
}

//  range               |1000 ──── |2000
TEST_CASE("what lies beside a range is in none", "[idle][idle_ranges]") {
    const Scene scene = before_batch({1000, 2000, PythonDoes::calls_back});
    CHECK(scene.pieces() == Pieces{is(Cause::input_cpu, 100, 1005), is(Cause::callback, 1005, 2005),
                                   is(Cause::input_cpu, 2005, 3205)});
    CHECK(scene.ask().ranges == Ranges{in_range(Cause::callback, 1005, 2005, true)});
}

//  thread  L54 ┌───── sync ─────┐3000  ── row ──3200┌N┐
TEST_CASE("a call in a range stays what it is, and has the range", "[idle][idle_ranges]") {
    Scene scene = before_batch({60, 3100, PythonDoes::calls_back});
    scene.lines.clear();
    scene.launch(50, 54).call(What::sync, 60, 3000).row(3000, 3200, 200).launch(3200, 3204);
    CHECK(scene.ask().ranges.front() == in_range(Cause::sync, 100, 3005, true));
}

//  GPU     ██100|     |140██        N was launched in time for 105, and ran late
TEST_CASE("behind the launch the range was no longer the reason", "[idle][idle_ranges]") {
    Scene scene = before_batch({60, kOpen, PythonDoes::untold});
    scene.lines.clear();
    scene.launch(50, 54).launch(98, 102).gap_before(100, 140, 98, 102);
    CHECK(scene.pieces().back() == is(Cause::device_other, 107, 140));
    CHECK(scene.ask().ranges.back().until_ns == 107 * kUs);
}

}  // namespace idle_ranges_test
