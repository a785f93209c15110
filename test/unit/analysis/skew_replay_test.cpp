// What a rank costs the others, by hand, and drawn by lot against a replay that knows all there is.
#include "analysis/skew/replay.h"

#include <catch2/catch.hpp>
#include <random>

namespace skew_replay_test {

using namespace gpushim::analysis;

namespace {

std::vector<int64_t> sums(const std::vector<std::vector<int64_t>>& saved) {
    std::vector<int64_t> all;
    for (const auto& row : saved) {
        all.resize(std::max(all.size(), row.size()));
        for (size_t rank = 0; rank < row.size(); ++rank) all[rank] += row[rank];
    }
    return all;
}

constexpr int64_t kTransfer = 1;
const Meeting kStart = {kTransfer, {{-1, 0}, {-1, 0}}};  // nothing is known before it

}  // namespace

//  rank 0   ──10 A is ready──12 B is ready      A [20 21), B [24 25); without rank 1 A [10 11), B [12 13)
//  rank 1   ────────────20 A is ready──24 B
TEST_CASE("work beside a collective that waits is counted once", "[skew_replay]") {
    const std::vector<Meeting> all = {
        kStart, {kTransfer, {{0, 10}, {0, 20}}}, {kTransfer, {{0, 12, 1}, {0, 24, 1}}}};
    const auto saved = saved_without_each(all);
    CHECK(saved[0].empty());
    CHECK(saved[1] == std::vector<int64_t>{0, 10});
    CHECK(saved[2] == std::vector<int64_t>{0, 2});
    // Nobody can be so quick that B comes before A is over: A 20 to 30, B 31.
    const std::vector<Meeting> behind = {
        kStart, {10, {{0, 10}, {0, 20}}}, {kTransfer, {{0, 12, 1}, {0, 24, 1}}}};
    CHECK(sums(saved_without_each(behind)) == std::vector<int64_t>{0, 10});
}

//  Collectives in a row, each rank waits for each: the slowest of each less the next.
TEST_CASE("without overlap it is the sum of what each collective waited", "[skew_replay]") {
    const std::vector<Meeting> all = {{1, {{-1, 0}, {-1, 0}, {-1, 0}}},
                                      {1, {{0, 10}, {0, 13}, {0, 11}}},
                                      {1, {{1, 30}, {1, 20}, {1, 29}}},
                                      {1, {{2, 5}, {2, 5}, {2, 4}}}};
    CHECK(sums(saved_without_each(all)) == std::vector<int64_t>{1, 2, 0});
}

TEST_CASE("what is not known breaks the chain", "[skew_replay]") {
    const Meeting far = {1, {{0, 10}, {0, 13}}};
    const std::vector<Meeting> all = {kStart, far, {1, {}}, far, {1, {{3, 10}, {3, 13}}}};
    const auto saved = saved_without_each(all);
    CHECK(saved[1] == std::vector<int64_t>{0, 3});
    CHECK(saved[2].empty());
    CHECK(saved[3].empty());  // it came after one from before the break
    CHECK(saved[4] == std::vector<int64_t>{0, 3});
    CHECK(saved_without_each(std::vector<Meeting>{{1, {{-1, 0}}}, {1, {{0, 1}}}})[1].empty());
    CHECK(saved_without_each({}).empty());
}

// Ranks that came after different collectives are replayed one by one, others by the two slowest: both alike.
TEST_CASE("many ranks at once are as each alone", "[skew_replay]") {
    std::mt19937 lot(21);
    std::uniform_int_distribution<int64_t> own(0, 100);
    constexpr size_t kRanks = 5;
    std::vector<Meeting> same, apart;
    for (int64_t i = 0; i < 200; ++i) {
        Meeting meeting = {3, {}};
        for (size_t rank = 0; rank < kRanks; ++rank)
            meeting.arrivals.push_back({std::max<int64_t>(0, i - 2), own(lot), i - 1});
        if (i == 0) meeting.arrivals.front().after = -1;
        same.push_back(meeting);
        // One that is never the last, and came after another one: all are replayed one by one.
        meeting.arrivals.push_back({i - 1, -1000, -1});
        apart.push_back(meeting);
    }
    const auto one = saved_without_each(same), other = saved_without_each(apart);
    for (size_t i = 0; i < same.size(); ++i)
        for (size_t rank = 0; rank < one[i].size(); ++rank) CHECK(one[i][rank] == other[i][rank]);
    for (const int64_t sum : sums(one)) CHECK(sum >= 0);
}

}  // namespace skew_replay_test
