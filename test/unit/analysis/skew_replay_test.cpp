// What a rank costs the others, by hand, and drawn by lot.
#include "analysis/skew/replay.h"

#include "analysis/skew/saved.h"

#include <catch2/catch.hpp>
#include <functional>
#include <numeric>
#include <random>

namespace skew_replay_test {

using namespace gpushim::analysis;

namespace {

constexpr int64_t kTransfer = 1;

// The first meeting begins the chain: all launched it and were over at 0.
struct Made {
    Histories all;

    explicit Made(size_t ranks) {
        all.ranks.resize(ranks);
        meet(-1, std::vector<std::vector<ReplayPath>>(ranks));
    }
    // By rank the ways to its begin.
    Made& meet(int64_t step, const std::vector<std::vector<ReplayPath>>& arrivals,
               int64_t transfer = kTransfer) {
        all.meetings.push_back({transfer, step});
        for (size_t rank = 0; rank < arrivals.size(); ++rank) {
            RankHistory& history = all.ranks[rank];
            history.meetings.push_back({true, 0, 0, 0, 0, static_cast<uint32_t>(history.paths.size()), 0,
                                        static_cast<uint16_t>(arrivals[rank].size())});
            history.paths.insert(history.paths.end(), arrivals[rank].begin(), arrivals[rank].end());
        }
        return *this;
    }
    // The way to its launch on that rank, of the last meeting.
    Made& launched(size_t rank, const ReplayPath& path) {
        RankHistory& history = all.ranks[rank];
        RankMeeting& last = history.meetings.back();
        history.paths.insert(history.paths.begin() + last.first, path);
        last.launches = 1;
        return *this;
    }
    int32_t last() const { return static_cast<int32_t>(all.meetings.size()) - 1; }
};

ReplayPath after(int64_t meeting, int64_t own_ns) {
    return {static_cast<int32_t>(meeting), false, own_ns, own_ns};
}
ReplayPath launch_of(int64_t meeting, int64_t own_ns, int64_t firm_ns) {
    return {static_cast<int32_t>(meeting), true, own_ns, firm_ns};
}

int64_t sum_of(const Savings& saved) {
    int64_t sum = 0;
    for (const auto& one : saved) sum += one.value_or(0);
    return sum;
}

}  // namespace

//  rank 0   ──10 A is ready──12 B is ready      A [20 21), B [24 25); without rank 1 A [10 11), B [12 13)
//  rank 1   ────────────20 A is ready──24 B
TEST_CASE("work beside a collective that waits is counted once", "[skew_replay]") {
    Made made(2);
    made.meet(0, {{after(0, 10)}, {after(0, 20)}});
    made.meet(0, {{after(0, 12), after(1, 0)}, {after(0, 24), after(1, 0)}});
    const Savings saved = at_most_saved_without(made.all, 1);
    CHECK(!saved[0]);
    CHECK(saved[1] == 10);
    CHECK(saved[2] == 2);
    CHECK(sum_of(at_most_saved_without(made.all, 0)) == 0);
    // Nobody can be so quick that B comes before A is over: A 20 to 30, B 31.
    Made behind(2);
    behind.meet(0, {{after(0, 10)}, {after(0, 20)}}, 10);
    behind.meet(0, {{after(0, 12), after(1, 0)}, {after(0, 24), after(1, 0)}});
    CHECK(sum_of(at_most_saved_without(behind.all, 1)) == 10);
}

//  host of rank 0   L A 0 ──── loads a batch ────18 L B      without rank 1 B begins at 18, not at 12
TEST_CASE("a rank cannot begin what its host has not launched", "[skew_replay]") {
    const auto saved = [](int64_t firm_ns) {
        Made made(2);
        made.meet(0, {{after(0, 10)}, {after(0, 20)}}).launched(0, after(0, 0));
        made.meet(0, {{after(0, 12), launch_of(2, 0, 0)}, {after(0, 24)}});
        made.launched(0, launch_of(1, 18, firm_ns));
        return sum_of(at_most_saved_without(made.all, 1));
    };
    CHECK(saved(18) == 24 - 18);
    CHECK(saved(13) == 24 - 13);  // of the rest nothing says that it was no wait
}

//  Collectives in a row, each rank waits for each: the slowest of each less the next.
TEST_CASE("without overlap it is the sum of what each collective waited", "[skew_replay]") {
    Made made(3);
    made.meet(0, {{after(0, 10)}, {after(0, 13)}, {after(0, 11)}});
    made.meet(0, {{after(1, 30)}, {after(1, 20)}, {after(1, 29)}});
    made.meet(0, {{after(2, 5)}, {after(2, 5)}, {after(2, 4)}});
    for (const auto& [rank, saves] : {std::pair{0, 1}, {1, 2}, {2, 0}})
        CHECK(sum_of(at_most_saved_without(made.all, static_cast<size_t>(rank))) == saves);
}

TEST_CASE("what is not known breaks the chain, and a step that it begins in is not whole", "[skew_replay]") {
    Made made(2);
    for (int64_t step = 0; step < 3; ++step)
        for (int i = 0; i < 2; ++i) made.meet(step, {{after(made.last(), 10)}, {after(made.last(), 13)}});
    made.all.ranks[0].meetings[3].is_known = false;
    const Savings saved = at_most_saved_without(made.all, 1);
    CHECK(saved == Savings{{}, 3, 3, {}, {}, 3, 3});
    // Times of another piece are of another clock.
    for (size_t i = 5; i < 7; ++i) made.all.ranks[0].meetings[i].piece = 1;
    CHECK(at_most_saved_without(made.all, 1)[5] == std::nullopt);
    CHECK(at_most_saved_without(Histories{}, 0).empty());
}

//  The host takes 18 for a step and was 100 ahead, the slow rank 20: in the long run a step saves 21 - 18,
//  and not 21 - 11 as long as the host is ahead.
TEST_CASE("hosts that are ahead do not stay so", "[skew_replay]") {
    Made made(2);
    for (auto& rank : made.all.ranks) rank.meetings[0].launch_ns = -100;
    for (int64_t step = 0; step < 40; ++step) {
        const int64_t before = made.last();
        made.meet(step, {{after(before, 10), launch_of(before + 1, 0, 0)},
                         {after(before, 20), launch_of(before + 1, 0, 0)}});
        for (size_t rank = 0; rank < 2; ++rank) {
            made.launched(rank, launch_of(before, 18, 18));
            made.all.ranks[rank].meetings.back().launch_ns = 18 * (step + 1) - 100;
            made.all.ranks[rank].meetings.back().end_ns = 21 * (step + 1);
        }
    }
    const Savings saved = at_most_saved_without(made.all, 1);
    for (size_t i = 1; i < saved.size(); ++i) CHECK(saved[i] == 3);
}

namespace {

// Two ranks whose work varies from 0 to 20 us; that of rank 1 takes `slower` us more.
Made drawn(
    int64_t slower, const std::function<int64_t(int64_t step)>& more = [](int64_t) { return 0; }) {
    Made made(2);
    std::mt19937 lot(21);
    std::uniform_int_distribution<int64_t> work(0, 20'000);
    for (int64_t step = 0; step < 4000; ++step) {
        const int64_t both = more(step);
        made.meet(step, {{after(made.last(), work(lot) + both)},
                         {after(made.last(), work(lot) + 1000 * slower + both)}});
        for (RankHistory& rank : made.all.ranks) rank.meetings.back().kind = both != 0;
        for (size_t rank = 0; rank < 2; ++rank) made.launched(rank, launch_of(made.last() - 1, 0, 0));
    }
    return made;
}

double us_per_step(const Savings& saved) { return static_cast<double>(sum_of(saved)) / 4000 / 1000; }

}  // namespace

// The later of two takes 13.3 us, and 20.4 where one takes 10 more; one alone takes 10.
TEST_CASE("a rank like the others comes last now and then", "[skew_replay]") {
    CHECK(us_per_step(at_most_saved_without(drawn(10).all, 1)) == Approx(10.42).margin(0.3));
    CHECK(us_per_step(saved_if_like_others(drawn(10).all, 1)) == Approx(7.08).margin(0.3));
    CHECK(us_per_step(at_most_saved_without(drawn(0).all, 1)) == Approx(3.33).margin(0.3));
    CHECK(us_per_step(saved_if_like_others(drawn(0).all, 1)) == Approx(0).margin(0.3));
}

TEST_CASE("who stands in for it does what it does in such a step", "[skew_replay]") {
    const auto read_the_loss = [](int64_t step) { return step % 5 == 4 ? 50'000 : 0; };
    CHECK(us_per_step(saved_if_like_others(drawn(10, read_the_loss).all, 1)) == Approx(7.08).margin(0.3));
}

TEST_CASE("a figure has a range, and is one where that is narrow", "[skew_replay]") {
    const std::vector<int64_t> same(40, 100'000);
    const SavedPerStep one = saved_per_step(same, 101'000, 1'000'000);
    CHECK(one.saved_ns == 100'000);
    CHECK(one.least_ns == 98'000);
    CHECK(one.most_ns == 102'000);
    CHECK(one.text() == "100 us");
    CHECK(saved_per_step(same, 110'000, 1'000'000).most_ns == 110'000);
    CHECK(saved_per_step(same, 110'000, 1'000'000).text() == "98.0 us to 110 us");
    CHECK(saved_per_step(same, 0, 3'000'000).text() == "94.0 us to 106 us");  // little, of a long step
    CHECK(saved_per_step(same, 0, 300'000'000).text() == "up to 700 us");
    CHECK(SavedPerStep{100'000, {}, 100'000}.text() == "up to 100 us");
    // Blocks of eight that differ: their standard error is 2,000.
    std::vector<int64_t> vary;
    for (const int64_t block : {100'000, 104'472, 95'528, 104'472, 95'528}) vary.insert(vary.end(), 8, block);
    CHECK(*saved_per_step(vary, 0, 0).least_ns == Approx(100'000 - 5'600).margin(2));
    CHECK(saved_per_step(std::vector<int64_t>{-5}, 0, 0).saved_ns == 0);
}

}  // namespace skew_replay_test
