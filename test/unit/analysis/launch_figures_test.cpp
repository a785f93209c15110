// What the host spent on launching.
#include "analysis/run/busy/launch_figures.h"

#include "busy_scene.h"

#include <catch2/catch.hpp>

namespace launch_figures_test {

using namespace busy_scene;

namespace {

constexpr int64_t kUs = 1000;

struct Thread {
    LaunchLoop loop;
    int64_t launches(int64_t from_us, int64_t until_us, int32_t gpu = 0) {
        return loop.between(launch(0, from_us * kUs, until_us * kUs), What::launch, gpu);
    }
    void is_in(What what, int64_t from_us, int64_t until_us) {
        loop.between(launch(0, from_us * kUs, until_us * kUs), what, kNoGpu);
    }
};

}  // namespace

//  L┐4   10┌L┐12   31┌L┐33    53┌L           6, 19, 20: no more
TEST_CASE("time between launches counts below 20 us", "[launch_figures]") {
    Thread thread;
    CHECK(thread.launches(0, 4) == -1);
    CHECK(thread.launches(10, 12) == 6 * kUs);
    CHECK(thread.launches(31, 33) == 19 * kUs);
    CHECK(thread.launches(53, 54) == -1);
}

TEST_CASE("only what decides, or a launch for another GPU, ends a loop of launches", "[launch_figures]") {
    for (const What what : {What::sync, What::staging, What::alloc_or_load, What::comm}) {
        Thread thread;
        thread.launches(0, 4);
        thread.is_in(what, 5, 6);
        CHECK(thread.launches(7, 8) == -1);
    }
    Thread thread;
    thread.launches(0, 4);
    thread.is_in(What::other_call, 5, 6);
    CHECK(thread.launches(7, 8) == 3 * kUs);
    CHECK(thread.launches(9, 10, 1) == -1);
    CHECK(thread.launches(12, 13, 1) == 2 * kUs);
}

//  comm  10┌──┌L┐14 15┌L┐16──┐20   22┌L     launches inside of a call of NCCL; then behind it
TEST_CASE("launches inside of another call", "[launch_figures]") {
    Thread thread;
    thread.launches(0, 4);
    thread.is_in(What::comm, 10, 20);
    CHECK(thread.launches(12, 14) == -1);
    CHECK(thread.launches(15, 16) == -1);
    CHECK(thread.launches(22, 23) == -1);
    CHECK(thread.launches(24, 25) == 1 * kUs);
}

TEST_CASE("calls count where they were entered, operations with and without device times",
          "[launch_figures]") {
    const auto segments = cut_at_steps({10, 40}, std::vector<WholeStep>{{7, {20, 30}}});
    LaunchFigures figures;
    figures.begin(segments);
    figures.add(launch(0, 5, 8), What::launch, 1);  // before what is known
    figures.add(ran(launch(0, 19, 25), 26, 27), What::launch, 2);
    figures.add(launch(0, 28, 29), What::launch, -1);
    figures.add(launch(0, 29, 35), What::staging, -1);
    figures.add(other(CallKind::record, 0, 9, 29, 30), What::launch, 3);
    const auto& sums = figures.sums();
    REQUIRE(sums.size() == 3);
    CHECK(sums[0].operations == 1);
    CHECK(sums[0].timed == 1);
    CHECK(sums[0].api_ns == 6);
    CHECK(sums[0].between_ns == 2);
    CHECK(sums[1].operations == 2);
    CHECK(sums[1].timed == 0);
    CHECK(sums[1].api_ns == 2);
    CHECK(sums[1].between_ns == 3);
    CHECK(sums[1].first_enter_ns == 28);
    CHECK_FALSE(sums[2].first_enter_ns);
}

}  // namespace launch_figures_test
