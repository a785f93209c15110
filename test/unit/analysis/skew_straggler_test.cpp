// Who makes whom wait: worked out by hand, and own work drawn by lot.
#include "analysis/skew/straggler.h"

#include <catch2/catch.hpp>
#include <numeric>
#include <random>

namespace skew_straggler_test {

using namespace gpushim::analysis;

namespace {

constexpr int64_t kTransfer = 100;

// Ranks that meet in a barrier: who has less own work waits for who has the most.
WorkBefore work(int64_t step, const std::vector<int64_t>& own_ns) {
    WorkBefore made = {step, {}};
    int64_t largest = 0;
    for (const int64_t own : own_ns) largest = std::max(largest, own);
    for (const int64_t own : own_ns) made.ranks.push_back({own, largest - own + kTransfer});
    return made;
}

std::vector<WorkBefore> repeated(const std::vector<int64_t>& own_ns, int64_t steps) {
    std::vector<WorkBefore> all;
    for (int64_t step = 0; step < steps; ++step) all.push_back(work(step, own_ns));
    return all;
}

CollectiveInstance instance(int64_t sequence, std::vector<Interval> spans) {
    CollectiveInstance made;
    made.op = CollectiveOp::all_reduce;
    made.sequence = sequence;
    made.ranks = static_cast<int>(spans.size());
    for (size_t rank = 0; rank < spans.size(); ++rank)
        made.parts.push_back({static_cast<int>(rank), spans[rank]});
    return made;
}

}  // namespace

//  rank 0   ──10──[███ 3 + 100 ]
//  rank 1   ────13────[█ 100   ]      late 3, wait 0
//  rank 2   ───11───[██ 2 + 100]      if rank 1 took 11: 2 saved
TEST_CASE("only the slowest can save, up to the next slowest", "[skew]") {
    const WorkBefore one = work(0, {10, 13, 11});
    CHECK(one.late_ns(0) == 0);
    CHECK(one.late_ns(1) == 3);
    CHECK(one.late_ns(2) == 1);
    CHECK(one.wait_ns(0) == 3);
    CHECK(one.wait_ns(1) == 0);
    CHECK(one.wait_ns(2) == 2);
    CHECK(one.wait_sum_ns() == 5);
    CHECK(one.saved_ns(0) == 0);
    CHECK(one.saved_ns(1) == 2);
    CHECK(one.saved_ns(2) == 0);
    CHECK(work(0, {13, 13, 11}).saved_ns(0) == 0);
    CHECK(work(0, {13}).saved_ns(0) == 0);
}

//  rank 0   #1[0 10]  ──20──  #2[30 50]            own 20
//  rank 1   #1[500 505]  ──30──  #2[535 545]       own 30, its clock is another
TEST_CASE("own work is from the end of the collective before", "[skew]") {
    const CollectiveInstance first = instance(1, {{0, 10}, {500, 505}});
    const CollectiveInstance second = instance(2, {{30, 50}, {535, 545}});
    const auto found = own_work(first, second, 5);
    REQUIRE(found);
    CHECK(found->step == 5);
    CHECK(found->ranks[0].own_ns == 20);
    CHECK(found->ranks[1].own_ns == 30);
    CHECK(found->ranks[0].duration_ns == 20);
    // Not over one that is missing, and not from or to one without all ranks' times.
    const CollectiveInstance third = instance(3, {{30, 50}, {535, 545}});
    CHECK_FALSE(own_work(first, third, 5));
    CollectiveInstance part = instance(2, {{30, 50}});
    part.ranks = 2;
    CHECK_FALSE(own_work(first, part, 5));
    part = second;
    part.op = CollectiveOp::broadcast;
    CHECK_FALSE(own_work(first, part, 5));
    // A captured one may run again at any time; run_skew_test has what comes behind the next one.
    CollectiveInstance captured = second;
    const CollectiveInstance behind = instance(3, {{70, 80}, {570, 580}});
    CHECK(own_work(captured, behind, 6));
    captured.replays = 9;
    CHECK_FALSE(own_work(captured, behind, 6));
    captured.parts[0].device = captured.parts[1].device = {};
    CHECK_FALSE(own_work(first, captured, 5));
    // A fused one counts as so many.
    CollectiveInstance fused = first;
    fused.calls = 2;
    CHECK(own_work(fused, third, 5));
}

TEST_CASE("rank 3 of 8, slowed 1.3 times, costs 3 ms a step", "[skew]") {
    std::vector<int64_t> own(8, 10'000'000);
    own[3] = 13'000'000;
    const Blame found = blame(repeated(own, 100), 13'000'100);
    CHECK(found.steps == 100);
    REQUIRE(found.straggler);
    CHECK(found.straggler->rank == 3);
    CHECK(found.straggler->saved_ns == 100 * 3'000'000);
    CHECK(found.straggler->largest_steps == 100);
    CHECK(found.straggler->p_value < 1e-9);
    CHECK(found.straggler->late_sum_ns == 100 * 3'000'000);
    CHECK(found.straggler->wait_sum_ns == 0);
    CHECK(found.lost_gpu_ns == 100 * 7 * 3'000'000LL);
    CHECK(found.mirror_disagreement == 0);
    CHECK(!found.mirror_broken);
}

TEST_CASE("a straggler is persistent and worth more than 1 % of a step", "[skew]") {
    // Of two ranks nine steps may be chance (2^-9 = 0.00195), ten are not.
    CHECK(!blame(repeated({100, 130}, 9), 230).straggler);
    CHECK(blame(repeated({100, 130}, 9), 230).suspect->rank == 1);
    CHECK(!blame(repeated({100, 130}, 10), 230).suspect);
    CHECK(!blame(repeated({100, 130}, 9), 3000).suspect);
    CHECK(fewest_steps(2) == 10);
    CHECK(fewest_steps(4) == 5);
    CHECK(fewest_steps(8) == 4);
    CHECK(blame(repeated({100, 130}, 10), 230).straggler);
    // 30 of 3000 is 1 %: not more.
    CHECK(!blame(repeated({100, 130}, 10), 3000).straggler);
    CHECK(blame(repeated({100, 130}, 10), 2999).straggler);
    // Steps count, not collectives: ten of them in one step are one.
    std::vector<WorkBefore> one_step = repeated({100, 130}, 10);
    for (WorkBefore& each : one_step) each.step = 0;
    CHECK(!blame(one_step, 230).straggler);
    CHECK(blame(one_step, 230).ranks[1].p_value == Approx(0.5));
    // In turns nobody is.
    std::vector<WorkBefore> turns;
    for (int64_t step = 0; step < 40; ++step)
        turns.push_back(
            work(step, step % 2 == 0 ? std::vector<int64_t>{130, 100} : std::vector<int64_t>{100, 130}));
    CHECK(!blame(turns, 230).straggler);
    // Nobody leads where two are equal.
    CHECK(blame(repeated({130, 130, 100}, 20), 230).ranks[0].largest_steps == 0);
    CHECK(!blame({}, 230).straggler);
    CHECK(!blame(repeated({100}, 20), 230).straggler);
}

TEST_CASE("late and wait that do not mirror each other are told", "[skew]") {
    // Rank 0 should wait 100. 20 too little are 20 %: not more.
    std::vector<WorkBefore> all = {{0, {{100, 180}, {200, 100}}}};
    CHECK(blame(all, 300).mirror_disagreement == Approx(0.2));
    CHECK(!blame(all, 300).mirror_broken);
    all[0].ranks[0].duration_ns = 179;
    CHECK(blame(all, 300).mirror_broken);
}

TEST_CASE("ranks are compared with those that do the same", "[skew]") {
    CHECK(comparable_ranks(std::vector<uint64_t>{7, 9, 7, 9, 9}) ==
          std::vector<std::vector<int>>{{0, 2}, {1, 3, 4}});
    // Of ranks 0 and 2, 2 leads; the job waits for rank 1 all the same, so nothing is saved.
    const Blame found = blame(repeated({100, 500, 130, 500}, 20), 600, std::vector<int>{0, 2});
    REQUIRE(found.ranks.size() == 2);
    CHECK(found.ranks[1].largest_steps == 20);
    CHECK(found.ranks[1].saved_ns == 0);
    CHECK(!found.straggler);
}

TEST_CASE("a rank that is slow for a while is found in its window", "[skew]") {
    std::vector<WorkBefore> all;
    for (int64_t step = 0; step < 600; ++step)
        all.push_back(work(step, step >= 300 && step < 350 ? std::vector<int64_t>{100, 130, 100}
                                                           : std::vector<int64_t>{100, 100, 100}));
    const auto found = transient_stragglers(all, 230);
    REQUIRE(found.size() == 1);
    CHECK(found[0].first_step == 300);
    CHECK(found[0].last_step == 349);
    CHECK(found[0].straggler.rank == 1);
    CHECK(found[0].straggler.saved_ns == 50 * 30);
}

TEST_CASE("the tail of the binomial is exact", "[skew]") {
    CHECK(binomial_tail(10, 10, 0.5) == Approx(1.0 / 1024));
    CHECK(binomial_tail(4, 3, 0.5) == Approx(5.0 / 16));    // 4 + 1 of 16
    CHECK(binomial_tail(3, 1, 0.25) == Approx(37.0 / 64));  // 1 - 27/64
    CHECK(binomial_tail(5, 0, 0.5) == 1);
    CHECK(binomial_tail(5, 6, 0.5) == 0);
    CHECK(binomial_tail(100'000, 50'001, 0.5) == Approx(0.5).margin(0.002));
    CHECK(binomial_tail(100'000, 40'000, 0.5) == Approx(1));
    CHECK(binomial_tail(1'000'000, 1'000'000, 0.5) == 0);  // below what a double holds
}

//            input   host   compute        own
//  rank 0       10     20       70         100
//  rank 1       12     20       70         102
//  rank 2       10     20      110         140      late by 39 over the median of 100 and 102: compute 40
TEST_CASE("a cause is named if it is most of the lateness", "[skew]") {
    const std::vector<WorkPart> parts = {
        {"input_wait", {10, 12, 10}}, {"host", {20, 20, 20}}, {"compute", {70, 70, 110}}};
    const auto cause = cause_of(2, std::vector<int64_t>{100, 102, 140}, parts);
    REQUIRE(cause);
    CHECK(cause->name == "compute");
    CHECK(cause->share == Approx(40.0 / 39));
    // 31 of 39 are 79 %.
    const std::vector<WorkPart> split = {{"host", {20, 20, 28}}, {"compute", {70, 70, 101}}};
    CHECK(cause_of(2, std::vector<int64_t>{100, 102, 140}, split)->name == "unattributed");
    CHECK(cause_of(2, std::vector<int64_t>{100, 102, 140}, split)->share == Approx(31.0 / 39));
    // Of two the other one is the median: all of the lateness counts, not half.
    const std::vector<WorkPart> two = {{"host", {20, 28}}, {"compute", {80, 112}}};
    CHECK(cause_of(1, std::vector<int64_t>{100, 140}, two)->name == "compute");
    CHECK(cause_of(1, std::vector<int64_t>{100, 140}, two)->share == Approx(0.8));
    CHECK(!cause_of(0, std::vector<int64_t>{100, 140}, two));
    CHECK(!cause_of(0, std::vector<int64_t>{100}, {}));
}

TEST_CASE("savings together are never above the waits", "[skew]") {
    std::mt19937_64 random(5);
    for (int round = 0; round < 200; ++round) {
        const size_t ranks = 2 + random() % 7;
        std::vector<WorkBefore> all;
        for (int64_t i = 0; i < 30; ++i) {
            std::vector<int64_t> own(ranks);
            for (int64_t& one : own) one = static_cast<int64_t>(random() % 1000);
            all.push_back(work(i / 3, own));
        }
        const Blame found = blame(all, 1000);
        int64_t saved_ns = 0, steps = 0;
        for (const RankBlame& one : found.ranks) {
            saved_ns += one.saved_ns;
            steps += one.largest_steps;
        }
        CHECK(saved_ns <= found.lost_gpu_ns);
        CHECK(saved_ns > 0);
        CHECK(steps <= found.steps);
        CHECK(found.mirror_disagreement == 0);
    }
}

}  // namespace skew_straggler_test
