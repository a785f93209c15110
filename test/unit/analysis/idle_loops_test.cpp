// Whole loops, from operations through gaps to sums by cause. Times in microseconds; l is 5.
#include "analysis/idle/gaps.h"
#include "idle_scene.h"

#include <catch2/catch.hpp>

namespace idle_loops_test {

using namespace idle_scene;

namespace {

struct Loop {
    explicit Loop(int64_t until_us) : gaps(0, {0, until_us * kUs}), window_ns(until_us * kUs) {}

    void operation(int64_t start_us, int64_t end_us, int64_t enter_us, int64_t exit_us, bool h2d = false) {
        gaps.add({start_us * kUs, end_us * kUs, {kThread, enter_us * kUs, exit_us * kUs, h2d}});
        busy_ns += (end_us - start_us) * kUs;
        gaps.take(certain);
        ask(certain);
    }
    void ask(const std::vector<Gap>& some) {
        for (const Gap& gap : some) {
            const Attributed result = attribute(gap, scene.lines, scene.facts);
            add(sums, result.pieces);
            drained += result.drained_by_sync;
            scene.line().forget_before(gap.until_ns - scene.facts.device.latency_ns);
        }
    }
    int64_t us(Cause cause) const { return sums[cause] / kUs; }
    void finish() {
        ask(gaps.finish());
        CHECK(sums.total() == window_ns - busy_ns);
    }

    Scene scene;
    Gaps gaps;
    std::vector<Gap> certain;
    int64_t window_ns, busy_ns = 0;
    IdleByCause sums;
    int drained = 0;
};

}  // namespace

//  thread  L─┐4   L─┐14   L─┐24   …       every 10
//  GPU         5███8   15███18  25███28
TEST_CASE("a launch-starved loop is launch bound", "[idle][loops]") {
    Loop loop(1000);
    for (int64_t t = 0; t < 1000; t += 10) {
        loop.scene.launch(t, t + 4);
        loop.operation(t + 5, t + 8, t, t + 4);
    }
    loop.finish();
    CHECK(loop.us(Cause::launch_bound) == 99 * 7);
    CHECK(loop.us(Cause::host_unknown) == 5);  // before the first launch
    CHECK(loop.us(Cause::tail) == 2);
    CHECK(loop.sums.of(CauseGroup::launch) == loop.sums[Cause::launch_bound]);
    CHECK(loop.drained == 0);
}

//  thread  L─┐4 6┌─────sync─────┐53 ───── runs 47 ────100 L─┐104
//  GPU         5██████████████50                            105███
TEST_CASE("a loop that waits for the device in each step is drained", "[idle][loops]") {
    Loop loop(1000);
    for (int64_t t = 0; t < 1000; t += 100) {
        loop.scene.launch(t, t + 4);
        loop.operation(t + 5, t + 50, t, t + 4);
        loop.scene.call(What::sync, t + 6, t + 53).row(t + 53, t + 100, 47);
    }
    loop.finish();
    CHECK(loop.us(Cause::sync) == 9 * 8);  // its wake-up, and the latency it could not hide
    CHECK(loop.us(Cause::host_cpu) == 9 * 47);
    CHECK(loop.us(Cause::host_unknown) == 5);
    CHECK(loop.us(Cause::tail) == 50);
    CHECK(loop.drained == 9);
}

//  thread  100┌staging┐140 142┌L┐146 148┌──sync──┐193 ──blocked 80── runs 27 ──300┌staging┐
//  GPU       105███████138        147██████████190                                  305███
TEST_CASE("a loop that waits for its loader is input bound", "[idle][loops]") {
    Loop loop(2000);
    loop.scene.facts.is_input_copy = [](int64_t, int64_t enter_ns) {
        return enter_ns % (200 * kUs) == 100 * kUs;
    };
    loop.scene.row(0, 100, 20);
    for (int64_t t = 0; t < 2000; t += 200) {
        loop.scene.call(What::staging, t + 100, t + 140);
        loop.operation(t + 105, t + 138, t + 100, t + 140, true);
        loop.scene.launch(t + 142, t + 146).call(What::sync, t + 148, t + 193);
        loop.operation(t + 147, t + 190, t + 142, t + 146);
        loop.scene.row(t + 193, t + 300, 27);
    }
    loop.finish();
    CHECK(loop.us(Cause::input_wait) == 80 + 9 * 80);
    CHECK(loop.us(Cause::input_cpu) == 20 + 9 * 27);
    CHECK(loop.us(Cause::sync) == 9 * 8);
    CHECK(loop.us(Cause::copy_staging) == 10 * 7);
    CHECK(loop.us(Cause::host_unknown) == 5 + 10 * 2);
    CHECK(loop.us(Cause::tail) == 10);
    CHECK(loop.drained == 9);
}

}  // namespace idle_loops_test
