// Starts, overlap and load of several GPUs, by hand.
#include "analysis/skew/stagger.h"

#include <catch2/catch.hpp>

namespace skew_stagger_test {

using namespace gpushim::analysis;

//  GPU 0   ██L█████──          launches from 2 on, idle from 8
//  GPU 1   ██────────L███      ran until 2 what was before, launches from 10 on: idle 2 to 10
//  GPU 2   ──────L████         idle 0 to 6
TEST_CASE("stagger is from the first launch to the last first one", "[skew]") {
    const std::vector<GpuStart> gpus = {{2, {{8, 20}}}, {10, {{2, 10}}}, {6, {{0, 6}, {16, 20}}}};
    const auto found = stagger_of(gpus, 40);
    REQUIRE(found);
    CHECK(found->stagger_ns == 8);
    CHECK(found->share_of_step == 0.2);
    CHECK(found->idle_ns == std::vector<int64_t>{0, 8, 4});
    CHECK(found->order == std::vector<int>{0, 2, 1});
    // Below what the clocks may be off nothing is said.
    CHECK(stagger_of(gpus, 40, 8));
    CHECK(!stagger_of(gpus, 40, 9));
    CHECK(!stagger_of(std::span(gpus).first(1), 40));
    CHECK(!stagger_of(gpus, 0));
}

TEST_CASE("orders and switches are counted", "[skew]") {
    const std::vector<GpuStart> there = {{0, {}}, {5, {}}}, back = {{5, {}}, {0, {}}};
    const std::vector<Stagger> steps = {*stagger_of(there, 10), *stagger_of(back, 10), *stagger_of(there, 10),
                                        *stagger_of(there, 10)};
    CHECK(order_stability(steps) == 0.75);
    CHECK(!order_stability({}));
    CHECK(device_switches(std::vector<int64_t>{0, 0, 1, 0, 1, 1}) == 3);
    CHECK(device_switches({}) == 0);
}

//  together      ██████████   10      one after another   █████       5      contained   ██████████  10
//                ██████████   10                               █████  5                     ██        2
//  union         10                                       10                            10
TEST_CASE("the sequential index is 0 together and 1 one after another", "[skew]") {
    CHECK(sequential_index(std::vector<int64_t>{10, 10}, 10) == 0.0);
    CHECK(sequential_index(std::vector<int64_t>{5, 5}, 10) == 1.0);
    // Imbalanced is not sequential.
    CHECK(sequential_index(std::vector<int64_t>{10, 2}, 10) == 0.0);
    CHECK(sequential_index(std::vector<int64_t>{11, 12}, 18) == Approx(6.0 / 11));
    CHECK(sequential_index(std::vector<int64_t>{5, 5, 5}, 15) == 1.0);
    // One that is active has nobody to be sequential with.
    CHECK(!sequential_index(std::vector<int64_t>{10}, 10));
    CHECK(!sequential_index(std::vector<int64_t>{10, 0, 0}, 10));
    CHECK(!sequential_index(std::vector<int64_t>{0, 0}, 0));
    CHECK(concurrency(std::vector<int64_t>{10, 10}, 10) == 2.0);
    CHECK(concurrency(std::vector<int64_t>{5, 5}, 10) == 1.0);
    CHECK(!concurrency(std::vector<int64_t>{0, 0}, 0));
}

TEST_CASE("load is compared with the mean, own work with the median", "[skew]") {
    CHECK(imbalance(std::vector<int64_t>{12, 8}) == Approx(0.2));
    CHECK(imbalance(std::vector<int64_t>{10, 10, 10}) == 0.0);
    CHECK(!imbalance(std::vector<int64_t>{0, 0}));
    CHECK(!imbalance({}));
    CHECK(step_skew(std::vector<int64_t>{10, 13, 10}) == Approx(0.3));
    CHECK(step_skew(std::vector<int64_t>{10, 14}) == Approx(2.0 / 12));
    CHECK(!step_skew({}));
    CHECK(!step_skew(std::vector<int64_t>{0, 0, 9}));
}

TEST_CASE("the first GPU does more, and something of its own", "[skew]") {
    const auto found = first_gpu(std::vector<GpuLoad>{{120, {1, 2, 9}}, {100, {1, 2}}, {90, {2, 3}}}, 0, 0);
    REQUIRE(found);
    CHECK(found->excess == Approx(120.0 / 95 - 1));
    CHECK(found->only_kernels == std::vector<int64_t>{9});
    CHECK(found->p2p_bytes == 0);
    // More, but of the same.
    const std::vector<GpuLoad> same = {{120, {1}}, {100, {1}}};
    CHECK(!first_gpu(same, 0, 0));
    CHECK(first_gpu(same, 64, 0)->p2p_bytes == 64);
    CHECK(!first_gpu(same, 64, 8));
    // Something of its own, but not much more: 10 % is not above 10 %.
    CHECK(!first_gpu(std::vector<GpuLoad>{{110, {1, 9}}, {100, {1}}}, 0, 0));
    CHECK(first_gpu(std::vector<GpuLoad>{{111, {1, 9}}, {100, {1}}}, 0, 0));
    CHECK(!first_gpu(std::vector<GpuLoad>{{120, {9}}}, 0, 0));
    // Of two models one is the larger one.
    CHECK(!first_gpu(std::vector<GpuLoad>{{120, {1, 9}}, {100, {1, 2, 3}}}, 64, 0));
    CHECK(!first_gpu(std::vector<GpuLoad>{{120, {1, 9}}, {100, {1}}, {100, {4}}}, 0, 0));
}

}  // namespace skew_stagger_test
