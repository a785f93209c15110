// Gaps of which no thread is asked, or any: what ran next was not launched after they began. Times in
// microseconds; l is 5.
#include "analysis/idle/attribute.h"

#include "idle_scene.h"

#include <catch2/catch.hpp>

namespace idle_unasked_test {

using namespace idle_scene;

//  recorded              |────────────────
//  GPU     ████████|100   N███               N waits in the queue; the thread is in a sync, which is not why
TEST_CASE("what was launched before the recording began was in the queue", "[idle]") {
    Scene scene;
    scene.call(What::sync, 95, 140);
    const auto until = [&](int64_t until_us, WaitsFor waits_for = WaitsFor::nothing) {
        scene.gap_before(100, until_us, until_us, until_us, waits_for);
        scene.gap.next->launched_before = true;
        return scene.pieces();
    };
    CHECK(until(103) == Pieces{is(Cause::kernel_gap, 100, 103)});
    CHECK(until(109) == Pieces{is(Cause::launch_latency, 100, 109)});
    CHECK(until(130) == Pieces{is(Cause::device_other, 100, 130)});
    CHECK(until(130, WaitsFor::other_gpu) == Pieces{is(Cause::wait_other_gpu, 100, 130)});
}

//  thread  N══┐L══sync═════════════      N: a graph
//  GPU         █node█|100   109█node█    the next node: nobody had to launch it
TEST_CASE("from node to node of a graph the GPU keeps itself waiting", "[idle]") {
    const auto until = [](int64_t until_us, int64_t error_ns) {
        Scene scene;
        scene.launch(80, 85).call(What::sync, 86, 300).gap_before(100, until_us, 80, 80);
        scene.gap.next->is_later_node = true;
        scene.facts.clock_error_ns = error_ns;
        return scene.pieces();
    };
    CHECK(until(109, 0) == Pieces{is(Cause::graph_gap, 100, 109)});
    CHECK(until(109, 30 * kUs) == Pieces{is(Cause::graph_gap, 100, 109)});  // both ends are of one clock
    // Longer than a start takes: it may wait for a function of the host, or an event, in the graph.
    CHECK(until(110, 0) == Pieces{is(Cause::device_other, 100, 110)});
    CHECK(until(140, 30 * kUs) == Pieces{is(Cause::device_other, 100, 140)});
}

//  GPU         █page█|100   |█page█    nobody launched it: something went on to the next page
TEST_CASE("from page to page of managed memory something touches one after the other", "[idle]") {
    const auto until = [](int64_t until_us, bool is_behind_page, bool is_page = true) {
        Scene scene;
        scene.launch(10, 15).gap_before(100, until_us, until_us, until_us);
        scene.gap.next->is_page = is_page;
        scene.gap.is_behind_page = is_behind_page;
        return scene.pieces();
    };
    CHECK(until(5100, true) == Pieces{is(Cause::managed_pages, 100, 5100)});
    // What the host did before it touched the first one, or for long before the next, is not known.
    CHECK(until(5100, false) == Pieces{is(Cause::host_unknown, 100, 5100)});
    CHECK(until(5101, true) == Pieces{is(Cause::host_unknown, 100, 5101)});
    CHECK(until(5100, true, false) == Pieces{is(Cause::host_unknown, 100, 5100)});
}

//  thread       120┌capture──────┐180
//  GPU     ███|100                     |200           nothing follows
TEST_CASE("behind the last operation a thread may make graphs", "[idle]") {
    Scene scene;
    scene.call(What::making_graph, 120, 180).gap = {0, 100 * kUs, 200 * kUs, {}};
    CHECK(scene.pieces() ==
          Pieces{is(Cause::tail, 100, 120), is(Cause::graph_update, 120, 180), is(Cause::tail, 180, 200)});
    Scene other;
    other.launch(120, 180).gap = {0, 100 * kUs, 200 * kUs, {}};
    CHECK(other.pieces() == Pieces{is(Cause::tail, 100, 200)});
}

}  // namespace idle_unasked_test
