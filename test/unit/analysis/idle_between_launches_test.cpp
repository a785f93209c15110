// Time between launches of which nothing tells what the host did. Times in microseconds; l is 5.
#include "idle_scene.h"

#include <catch2/catch.hpp>

namespace idle_between_launches_test {

using namespace idle_scene;

//  thread  L┐100 ───── runs 100 ─────200┌N┐203
TEST_CASE("a thread that runs between two launches is on its way, one that is off its CPU is not", "[idle]") {
    const auto seen = [](int64_t running_us, int64_t input_at_us) {
        Scene scene;
        scene.launch(96, 100).row(100, 200, running_us).launch(200, 203);
        scene.gap_before(105, 205, 200, 203);
        scene.gap.next->is_copy_h2d = true;
        return scene.input_copy_at(input_at_us).pieces();
    };
    CHECK(seen(100, 7) == Pieces{is(Cause::between_launches, 105, 205)});
    CHECK(seen(60, 7) == Pieces{is(Cause::host_blocked, 105, 145), is(Cause::between_launches, 145, 205)});
    CHECK(seen(100, 200) == Pieces{is(Cause::input_cpu, 105, 205)});  // what it launches is the batch
}

//  thread 1  ──L┐2900 ──runs──3000 ···· blocked ····
//  thread 2  ···· blocked ····         3100 ─runs─ 3150┌N┐3153
TEST_CASE("from a launch of one thread to that of another it is handed over", "[idle]") {
    const auto seen = [](int64_t launched_us, int64_t off_until_us) {
        Scene scene;
        scene.launch(launched_us - 4, launched_us);
        scene.lines[2].add(HostGap{0, 3150 * kUs, (3150 - off_until_us) * kUs});
        scene.lines[2].add(HostCall{What::launch, 3150 * kUs, 3153 * kUs, 0});
        scene.gap_before(2910, 3155, 3150, 3153);
        scene.gap.next->thread = 2;
        return scene;
    };
    Scene close = seen(2900, 3100);
    close.row(2900, 3000, 100).call(What::sync, 3000, 3050);
    CHECK(close.pieces() == Pieces{is(Cause::between_launches, 2910, 3005), is(Cause::sync, 3005, 3055),
                                   is(Cause::between_launches, 3055, 3155)});
    // Too long ago, or the second one worked all the time.
    CHECK(seen(2149, 3100).pieces() ==
          Pieces{is(Cause::host_blocked, 2910, 3105), is(Cause::host_cpu, 3105, 3155)});
    CHECK(seen(2900, 0).pieces() == Pieces{is(Cause::host_cpu, 2910, 3155)});
}

}  // namespace idle_between_launches_test
