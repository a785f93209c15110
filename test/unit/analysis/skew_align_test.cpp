// Offsets of clocks from barriers: single bounds by hand, and truths drawn by lot, which no bound may
// exclude.
#include "analysis/skew/align.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

namespace skew_align_test {

using namespace gpushim::analysis;

namespace {

CollectiveInstance barrier(std::vector<Interval> spans, int64_t bytes = 8) {
    CollectiveInstance made;
    made.op = CollectiveOp::all_reduce;
    made.bytes = bytes;
    made.ranks = static_cast<int>(spans.size());
    for (size_t rank = 0; rank < spans.size(); ++rank)
        made.parts.push_back({static_cast<int>(rank), spans[rank]});
    return made;
}

const std::vector<int> kHosts = {0, 0, 1, 1};  // of ranks 0 to 3

}  // namespace

//  A's clock   0    4        10 11          B's clock is 1000 ahead: the offset is -1000
//  rank 0  A   ██████████████
//  rank 1  A        ██████████
//  rank 2  B          ████████              1006 to 1010
//  rank 3  B              █████             1008 to 1011
TEST_CASE("nobody leaves before everybody has come", "[skew]") {
    const auto seen = shared_barrier(barrier({{0, 11}, {4, 10}, {1006, 1010}, {1008, 1011}}), kHosts, 0, 1);
    REQUIRE(seen);
    CHECK(seen->a_last_start_ns == 4);
    CHECK(seen->a_first_end_ns == 10);
    CHECK(seen->b_last_start_ns == 1008);
    CHECK(seen->b_first_end_ns == 1010);
    const HostOffset offset(std::vector<SharedBarrier>{*seen}, 0);
    const auto found = offset.at(1009);
    REQUIRE(found);
    CHECK(found->low_ns == 4 - 1010);
    CHECK(found->high_ns == 10 - 1008);
    CHECK(found->point_ns == 11 - 1011);
    CHECK(found->clock_error_ns() == 4);
    // A line that leaves the bounds is moved into them.
    SharedBarrier slow_end = *seen;
    slow_end.a_last_end_ns = 500;
    CHECK(HostOffset(std::vector<SharedBarrier>{slow_end}, 0).at(1009)->point_ns == -998);
}

TEST_CASE("of messages of several sizes ranks end apart, which tells no clock", "[skew]") {
    CollectiveInstance all_to_all = barrier({{0, 11}, {4, 10}, {1006, 1010}, {1008, 1011}});
    all_to_all.op = CollectiveOp::all_to_all;
    CHECK(shared_barrier(all_to_all, kHosts, 0, 1));
    all_to_all.bytes = -1;
    CHECK_FALSE(shared_barrier(all_to_all, kHosts, 0, 1));
}

//  A last by 100: lower bound tight    B last by 100: upper bound tight
TEST_CASE("barriers are tight on one side each, together on both", "[skew]") {
    const std::vector<int> hosts = {0, 1};
    const auto first = shared_barrier(barrier({{100, 110}, {5000, 5110}}), hosts, 0, 1);
    const auto second = shared_barrier(barrier({{200, 310}, {5300, 5310}}), hosts, 0, 1);
    const auto of = [](std::vector<SharedBarrier> seen) { return *HostOffset(seen, 0).at(5200); };
    CHECK(of({*first}).low_ns == -5010);
    CHECK(of({*first}).high_ns == -4890);
    CHECK(of({*second}).low_ns == -5110);
    CHECK(of({*second}).high_ns == -4990);
    CHECK(of({*first, *second}).low_ns == -5010);
    CHECK(of({*second, *first}).high_ns == -4990);
    CHECK(of({*first, *second}).clock_error_ns() == 10);
}

//  B's clock    1 ms              11 ms           100 ppm of 10 ms are 1000
//  low          -10               -1010, moved
//  high         +10               +1010
TEST_CASE("a bound that is far away in time is a loose one", "[skew]") {
    const SharedBarrier one = {8, 1'000'000, 1'000'010, 1'000'010, 1'000'000, 1'000'010, 1'000'010};
    const HostOffset offset(std::vector<SharedBarrier>{one});
    CHECK(offset.at(1'000'010)->low_ns == -10);
    CHECK(offset.at(1'000'000)->high_ns == 10);
    CHECK(offset.at(11'000'010)->low_ns == -1010);
    CHECK(offset.at(11'000'000)->high_ns == 1010);
    CHECK(offset.at(11'000'000)->point_ns == 0);
}

TEST_CASE("no answer from nothing, and none from contradictions", "[skew]") {
    CHECK(!HostOffset(std::vector<SharedBarrier>{}).at(0));
    // B's clock was stepped by 1000 in between.
    const SharedBarrier before = {8, 100, 110, 110, 100, 110, 110};
    const SharedBarrier after = {8, 200, 210, 210, 1200, 1210, 1210};
    CHECK(HostOffset(std::vector<SharedBarrier>{before}).at(100));
    CHECK(!HostOffset(std::vector<SharedBarrier>{before, after}).at(100));
    CollectiveInstance one = barrier({{0, 10}, {0, 10}});
    CHECK(!shared_barrier(one, std::vector<int>{0, 0}, 0, 1));
    CHECK(shared_barrier(one, std::vector<int>{0, 1}, 0, 1));
    one.op = CollectiveOp::broadcast;
    CHECK(!shared_barrier(one, std::vector<int>{0, 1}, 0, 1));
    one.op = CollectiveOp::barrier;
    one.aborted = true;
    CHECK(!shared_barrier(one, std::vector<int>{0, 1}, 0, 1));
}

TEST_CASE("one host has one clock", "[skew]") {
    const auto found = HostOffset::same_host().at(123);
    REQUIRE(found);
    CHECK(found->low_ns == 0);
    CHECK(found->high_ns == 0);
    CHECK(found->clock_error_ns() == 0);
    const ClockOffset all = chained({-5, 5, 1}, {90, 110, 100});
    CHECK(all.low_ns == 85);
    CHECK(all.high_ns == 115);
    CHECK(all.point_ns == 101);
    CHECK(all.clock_error_ns() == 15);
}

TEST_CASE("small messages place the point, and a few wild ones do not move it", "[skew]") {
    std::vector<SharedBarrier> seen;
    for (int64_t i = 0; i < 40; ++i) {
        const int64_t a = i * 1'000'000, b = a + 7000;
        const int64_t wild = i % 8 == 3 ? 90 : 0;  // A ends late
        seen.push_back({8, a, a + 200, a + 200 + wild, b, b + 200, b + 200});
        // Big ones end at different times, always the same way.
        seen.push_back({1 << 20, a + 500, a + 900, a + 1000, b + 500, b + 900, b + 900});
    }
    const HostOffset offset(seen);
    CHECK(offset.at(20'000'000)->point_ns == -7000);
}

TEST_CASE("the true offset is never excluded", "[skew]") {
    std::mt19937_64 random(11);
    const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
    for (int round = 0; round < 60; ++round) {
        const int64_t offset_ns = below(2'000'000'000) - 1'000'000'000;
        const int64_t drift = below(191) - 95;  // ppm
        // What to add to B's clock at a true time (which is A's).
        const auto truth = [&](int64_t a_ns) { return offset_ns + a_ns * drift / 1'000'000; };
        std::vector<SharedBarrier> seen;
        std::vector<int64_t> times;
        int64_t now = 0;
        for (int i = 0; i < 100; ++i) {
            now += 1 + below(20'000'000);
            std::vector<Interval> spans;
            int64_t last = 0;
            for (int rank = 0; rank < 4; ++rank) {
                spans.push_back({now + below(300'000), 0});
                last = std::max(last, spans.back().start_ns);
            }
            const int64_t bytes = random() % 3 == 0 ? 8 : 1 << 20;
            for (int rank = 0; rank < 4; ++rank) {
                Interval& span = spans[static_cast<size_t>(rank)];
                span.end_ns = last + (bytes == 8 ? 5000 : 50'000) + below(2000);
                if (kHosts[static_cast<size_t>(rank)] == 0) continue;
                span = {span.start_ns - truth(span.start_ns), span.end_ns - truth(span.end_ns)};
            }
            // A rank that was not seen does no harm.
            CollectiveInstance one = barrier(spans, bytes);
            if (random() % 4 == 0) one.parts.erase(one.parts.begin() + below(4));
            seen.push_back(*shared_barrier(one, kHosts, 0, 1));
            times.push_back(now);
            now = last + 60'000;
        }
        std::shuffle(seen.begin(), seen.end(), random);
        const HostOffset offset(seen);
        int64_t narrowest = INT64_MAX;
        for (const int64_t a_ns : times) {
            const auto found = offset.at(a_ns - truth(a_ns));
            REQUIRE(found);
            CHECK(found->low_ns <= truth(a_ns));
            CHECK(found->high_ns >= truth(a_ns));
            CHECK(found->point_ns >= found->low_ns);
            CHECK(found->point_ns <= found->high_ns);
            CHECK(std::abs(found->point_ns - truth(a_ns)) < 10'000);
            narrowest = std::min(narrowest, found->clock_error_ns());
        }
        CHECK(narrowest < 60'000);
    }
}

}  // namespace skew_align_test
