#include "shim/trace/kept_slots.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

namespace kept_slots_test {

using namespace gpushim::shim;

namespace {

constexpr int64_t kSecond = 1'000'000'000;

// Slots from `first` on, `count` of them, with as many rows each. Started at the beginning of slot 1000.
KeptSlots slots(int64_t count, int64_t rows = 100) {
    KeptSlots made(0, 10'000 * kSecond);
    for (int64_t i = 0; i < count; ++i) made.at(i * 10 * kSecond).rows = rows;
    return made;
}

std::vector<int64_t> order(KeptSlots& slots, size_t most) {
    std::vector<int64_t> dropped;
    while (dropped.size() < most) {
        const int64_t number = slots.least_worth().slot;
        if (number == KeptSlots::kNone) break;
        dropped.push_back(number - 1000);
        slots.drop(number);
    }
    return dropped;
}

}  // namespace

TEST_CASE("slots are those of the clock", "[kept_slots]") {
    const KeptSlots slots(5 * kSecond, 10'007 * kSecond);  // 2 s before slot 1000 began in CLOCK_MONOTONIC
    CHECK(slots.number_of(5 * kSecond) == 1000);
    CHECK(slots.number_of(8 * kSecond - 1) == 1000);
    CHECK(slots.number_of(8 * kSecond) == 1001);
    CHECK(slots.begin_of(1001) == 8 * kSecond);
    CHECK(slots.number_of(-3 * kSecond) == 999);
}

// 1000 is divisible by 8.
TEST_CASE(
    "every second slot goes, then every fourth, the oldest first; the first two minutes and the newest stay",
    "[kept_slots]") {
    KeptSlots all = slots(60);
    for (int64_t number = 1000; number < 1012; ++number) all.all().at(number).rows = 10;
    CHECK(order(all, 22) == std::vector<int64_t>{13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 33,
                                                 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55});
    CHECK(order(all, 3) == std::vector<int64_t>{57, 14, 18});
}

TEST_CASE("the first minutes are worth a quarter of the rows", "[kept_slots]") {
    KeptSlots all = slots(20);
    // 20 slots: five of the first twelve are worth more than others.
    CHECK(order(all, 1) == std::vector<int64_t>{5});
    KeptSlots few = slots(3);
    // The two newest of three are more than half.
    CHECK(order(few, 3) == std::vector<int64_t>{1, 0, 2});
}

TEST_CASE("the newest take no more than half", "[kept_slots]") {
    KeptSlots all = slots(20);
    all.all().at(1019).rows = 1800;  // and 100 of 1018, of 3700 in all
    CHECK(order(all, 1) == std::vector<int64_t>{18});
    KeptSlots few = slots(20);
    few.all().at(1019).rows = 1600;
    CHECK(order(few, 1) == std::vector<int64_t>{9});
    // One of them is gone: none that is older takes its place.
    KeptSlots gap = slots(20);
    gap.drop(1018);
    gap.all().at(1019).rows = 2000;
    CHECK(order(gap, 1) == std::vector<int64_t>{19});
}

TEST_CASE("what is begun is finished", "[kept_slots]") {
    KeptSlots all = slots(60);
    all.all().at(1032).from_ns += kSecond;
    CHECK(order(all, 2) == std::vector<int64_t>{32, 13});
}

TEST_CASE("what was asked for stays while it is at most half of the rows", "[kept_slots]") {
    KeptSlots all = slots(60);
    all.all().at(1013).asked = all.all().at(1015).asked = true;
    CHECK(order(all, 2) == std::vector<int64_t>{17, 19});
    for (auto& [number, slot] : all.all()) slot.asked = true;
    CHECK(order(all, 1) == std::vector<int64_t>{13});
}

TEST_CASE("the ten slots with the longest mean step stay", "[kept_slots]") {
    KeptSlots all = slots(60);
    for (int64_t i = 0; i < 60; ++i) {
        KeptSlot& slot = all.at(i * 10 * kSecond);
        slot.steps = 10;
        slot.step_ns = i >= 20 && i < 40 && i % 2 == 1 ? 2 * kSecond + i : kSecond;
        slot.launches = i % 2 == 1 ? 1000 : 1;  // says nothing where there are steps
    }
    const std::vector<int64_t> dropped = order(all, 48);
    for (int64_t slow = 21; slow < 40; slow += 2) CHECK(std::ranges::count(dropped, slow) == 0);
    // Nothing else left: the fastest of them first.
    CHECK(order(all, 3) == std::vector<int64_t>{21, 23, 25});
}

TEST_CASE("without steps the slots with the fewest launches are the slowest, if there were any",
          "[kept_slots]") {
    KeptSlots all = slots(60);
    for (int64_t i = 0; i < 60; ++i)
        all.at(i * 10 * kSecond).launches = i == 33 ? 0 : i == 35 ? 10 : 1000 + i;
    const std::vector<int64_t> dropped = order(all, 40);
    CHECK(std::ranges::count(dropped, 33) == 1);
    CHECK(std::ranges::count(dropped, 35) == 0);
}

TEST_CASE("a step belongs to the slot in which it ends", "[kept_slots]") {
    KeptSlots all(0, 10'000 * kSecond);
    all.mark(1, 9 * kSecond);
    all.mark(1, 11 * kSecond);
    all.mark(2, 12 * kSecond);  // another thread's are not mixed in
    all.mark(1, 14 * kSecond);
    const KeptSlot& slot = all.all().at(1001);
    CHECK(slot.steps == 2);
    CHECK(slot.step_ns == 5 * kSecond);
    CHECK_FALSE(all.all().contains(1000));
}

TEST_CASE("ranges are steps where nothing is marked", "[kept_slots]") {
    KeptSlots all(0, 10'000 * kSecond);
    all.step(1, 2 * kSecond, 4 * kSecond);
    all.step(1, 9 * kSecond, 12 * kSecond);
    all.step(2, 9 * kSecond, 19 * kSecond);
    CHECK(all.all().at(1000).step_ns == 2 * kSecond);
    CHECK(all.all().at(1001).steps == 1);
    CHECK(all.all().at(1001).step_ns == 3 * kSecond);
    all.mark(2, 13 * kSecond);
    all.mark(2, 14 * kSecond);
    all.step(1, 15 * kSecond, 19 * kSecond);
    CHECK(all.all().at(1001).steps == 2);
    CHECK(all.all().at(1001).step_ns == 4 * kSecond);
}

TEST_CASE("what is in a window goes after all that is not, while it is at most half", "[kept_slots]") {
    KeptSlots all(0, 10'000 * kSecond);
    for (int64_t i = 0; i < 20; ++i) {
        const int64_t begin_ns = i * 10 * kSecond;
        all.hold(begin_ns, begin_ns + kSecond / 10);  // of each slot one row of a hundred
        for (int64_t n = 0; n < 100; ++n) all.add_row(all.at(begin_ns), begin_ns + n * kSecond / 10);
    }
    for (int64_t i = 0; i < 20; ++i) {
        const KeptSlots::Part part = all.least_worth();
        REQUIRE(part.window == KeptSlots::kRest);
        const KeptSlots::Span span = all.span_of(part);
        CHECK(span.from_ns == all.begin_of(part.slot) + kSecond / 10);
        CHECK(span.until_ns == all.end_of(part.slot));
        all.gone(part, span.until_ns, 99);
        CHECK_FALSE(all.is_over(part.slot));
    }
    // Then windows as slots: every second one.
    const KeptSlots::Part part = all.least_worth();
    CHECK(part.window == 0);
    CHECK(all.has_rows_in(all.begin_of(part.slot), all.begin_of(part.slot) + 1));
    CHECK_FALSE(all.has_rows_in(all.begin_of(part.slot) + 2 * kSecond, all.end_of(part.slot) - 1));
    all.gone(part, all.span_of(part).until_ns, 1);
    CHECK(all.is_over(part.slot));
}

TEST_CASE("a window that ended before its plan holds no more than it had", "[kept_slots]") {
    KeptSlots all(0, 10'000 * kSecond);
    all.hold(kSecond, INT64_MAX);
    all.add_row(all.at(2 * kSecond), 2 * kSecond);
    CHECK(all.span_of({1000, 0}).until_ns == 10 * kSecond);
    all.hold(kSecond, 3 * kSecond);
    all.add_row(all.at(4 * kSecond), 4 * kSecond);
    CHECK(all.span_of({1000, 0}).until_ns == 3 * kSecond);
    CHECK(all.span_of({1000, KeptSlots::kRest}).until_ns == kSecond);  // what is before the window goes first
    all.gone({1000, KeptSlots::kRest}, kSecond, 0);
    CHECK(all.span_of({1000, KeptSlots::kRest}).from_ns == 3 * kSecond);
    CHECK(all.least_worth() == KeptSlots::Part{1000, KeptSlots::kRest});
}

// A young run has several in a slot.
TEST_CASE("between two windows of a slot nothing is held", "[kept_slots]") {
    KeptSlots all(0, 10'000 * kSecond);
    all.hold(kSecond, 2 * kSecond);
    all.add_row(all.at(kSecond), kSecond);
    all.hold(5 * kSecond, INT64_MAX);
    all.add_row(all.at(6 * kSecond), 6 * kSecond);
    all.hold(5 * kSecond, 7 * kSecond);
    for (int64_t n = 2; n < 10; ++n) all.add_row(all.at(n * kSecond), n * kSecond);
    const KeptSlots::Part rest = {1000, KeptSlots::kRest};
    const int64_t gaps[][2] = {{0, 1}, {2, 5}, {7, 10}};
    for (const auto& [from, until] : gaps) {
        REQUIRE(all.least_worth() == rest);
        const KeptSlots::Span span = all.span_of(rest);
        CHECK(span.from_ns == from * kSecond);
        CHECK(span.until_ns == until * kSecond);
        all.gone(rest, span.until_ns, until - from);
    }
    CHECK(all.least_worth() == KeptSlots::Part{1000, 0});
    CHECK(all.span_of({1000, 1}).until_ns == 7 * kSecond);
    CHECK_FALSE(all.has_rows_in(3 * kSecond, 4 * kSecond));
    CHECK(all.has_rows_in(5 * kSecond, 6 * kSecond));

    KeptSlots again(0, 10'000 * kSecond);
    again.put(1000, {.from_ns = 0, .rows = 10});
    again.load_window(kSecond, 2 * kSecond);
    again.load_window(5 * kSecond, 7 * kSecond);
    CHECK(again.span_of(rest).until_ns == kSecond);
    again.gone(rest, 2 * kSecond, 1);
    CHECK(again.span_of(rest).until_ns == 5 * kSecond);
    CHECK(again.all().at(1000).windows[0].rows + again.all().at(1000).windows[1].rows < 10);
}

TEST_CASE("windows of a slot are a few, however often they begin", "[kept_slots]") {
    KeptSlots all(0, 10'000 * kSecond);
    for (int64_t n = 1; n < 900; ++n) {
        all.hold(n * kSecond / 100, n * kSecond / 100 + kSecond / 200);
        all.add_row(all.at(n * kSecond / 100), n * kSecond / 100);
    }
    const auto& windows = all.all().at(1000).windows;
    CHECK(windows.size() == KeptSlots::kMostWindows);
    CHECK(windows.back().until_ns == 899 * kSecond / 100 + kSecond / 200);
}

TEST_CASE("a window of no length, as a damaged trace may have one, holds nothing", "[kept_slots]") {
    KeptSlots all(0, 10'000 * kSecond);
    all.put(1000, {.from_ns = 10 * kSecond, .rows = 5});
    all.load_window(3 * kSecond, 3 * kSecond);
    CHECK_FALSE(all.all().at(1000).holds());
}

}  // namespace kept_slots_test
