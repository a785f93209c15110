// The gaps of a GPU, by hand.
#include "analysis/idle/gaps.h"

#include <catch2/catch.hpp>
#include <tuple>

namespace idle_gaps_test {

using namespace gpushim::analysis;

namespace {

constexpr int64_t kNone = -1;

DeviceOperation op(int64_t start, int64_t end, int64_t launched) {
    return {start, end, {1, launched, launched + 1}};
}

// From, until, launch of the next one.
std::vector<std::tuple<int64_t, int64_t, int64_t>> of(const std::vector<Gap>& gaps) {
    std::vector<std::tuple<int64_t, int64_t, int64_t>> result;
    for (const Gap& gap : gaps)
        result.emplace_back(gap.from_ns, gap.until_ns, gap.next ? gap.next->launch_enter_ns : kNone);
    return result;
}
using All = std::vector<std::tuple<int64_t, int64_t, int64_t>>;

}  // namespace

//  window   |10                                           100|
//  stream 1     20███30          50███████70  80|80
//  stream 2  5█12     30██40        55█60                 98█████110
TEST_CASE("gaps are what no stream covers", "[idle][gaps]") {
    Gaps gaps(3, {10, 100});
    gaps.add(op(5, 12, 1));
    gaps.add(op(20, 30, 2));
    gaps.add(op(30, 40, 3));
    gaps.add(op(50, 70, 4));
    gaps.add(op(55, 60, 5));
    gaps.add(op(80, 80, 6));
    gaps.add(op(90, 85, 6));
    gaps.add(op(98, 110, 7));
    const std::vector<Gap> all = gaps.finish();
    CHECK(of(all) == All{{12, 20, 2}, {40, 50, 4}, {70, 80, 6}, {80, 98, 7}});
    CHECK(all[0].gpu == 3);
}

//  stream 1     20█page█30        50█kernel█70
//  stream 2          25█page█40                      80█page█90
TEST_CASE("a gap knows whether a page of managed memory was the last to end before it", "[idle][gaps]") {
    Gaps gaps(0, {20, 100});
    const auto page = [](int64_t start, int64_t end) {
        DeviceOperation moved = op(start, end, start);
        moved.next.is_page = true;
        return moved;
    };
    gaps.add(page(20, 30));
    gaps.add(page(25, 40));
    gaps.add(op(50, 70, 4));
    gaps.add(page(55, 60));
    gaps.add(page(80, 90));
    const std::vector<Gap> all = gaps.finish();
    REQUIRE(all.size() == 3);
    CHECK(all[0].is_behind_page);
    CHECK(!all[1].is_behind_page);
    CHECK(all[2].is_behind_page);
}

TEST_CASE("what comes last and was too short to be timed leaves a gap until it, not a tail", "[idle][gaps]") {
    Gaps gaps(0, {0, 100});
    gaps.add(op(20, 30, 1));
    gaps.add(op(60, 60, 2));
    gaps.add(op(99, 99, 3));
    CHECK(of(gaps.finish()) == All{{0, 20, 1}, {30, 60, 2}, {60, 99, 3}, {99, 100, kNone}});
}

TEST_CASE("a gap at the window's start has a next, one at its end has none", "[idle][gaps]") {
    Gaps gaps(0, {10, 100});
    gaps.add(op(2, 8, 1));
    gaps.add(op(20, 30, 2));
    gaps.add(op(100, 120, 3));
    CHECK(of(gaps.finish()) == All{{10, 20, 2}, {30, 100, kNone}});
    CHECK(of(Gaps(0, {10, 100}).finish()) == All{{10, 100, kNone}});
}

TEST_CASE("of operations that start together the first launched is next", "[idle][gaps]") {
    Gaps gaps(0, {0, 100});
    std::vector<Gap> certain;
    const auto taken = [&] {
        gaps.take(certain);
        return of(certain);
    };
    gaps.add(op(20, 30, 7));
    CHECK(taken().empty());
    gaps.add(op(20, 25, 4));
    gaps.add(op(20, 22, 9));
    CHECK(taken().empty());
    gaps.add(op(40, 50, 8));
    CHECK(taken() == All{{0, 20, 4}});
    CHECK(of(gaps.finish()) == All{{30, 40, 8}, {50, 100, kNone}});
}

}  // namespace idle_gaps_test
