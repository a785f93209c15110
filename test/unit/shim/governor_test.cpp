#include "shim/windows/governor.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

namespace governor_test {

using namespace gpushim::shim;

namespace {

// A thread whose every launch costs us so much: always, and more while a window is open.
ThreadLoad load_of(double launches_per_s, double hook_ns, double events_ns) {
    const double more = launches_per_s * events_ns / 1e9;
    return {launches_per_s * hook_ns / 1e9, more / (1 + more)};
}

Plan decided(std::vector<ThreadLoad> loads, double budget = 0.01) { return Governor(budget).decide(loads); }

}  // namespace

TEST_CASE("levels halve: the first part of each slot, then fewer slots", "[governor]") {
    const double seconds[] = {10, 5, 2.5, 1.25, 0.6};
    for (size_t i = 0; i < std::size(seconds); ++i) {
        CHECK(Governor::plan(i).open_ns == std::llround(seconds[i] * 1e9));
        CHECK(Governor::plan(i).every == 1);
    }
    for (size_t i = 5; i < Governor::kLevels; ++i) {
        CHECK(Governor::plan(i).open_ns == 600'000'000);
        CHECK(Governor::plan(i).every == int64_t{1} << (i - 4));
    }
}

TEST_CASE("the busiest thread pays no more than the budget, and the next larger plan would be too much",
          "[governor]") {
    for (const double rate : {1e3, 5e3, 20e3, 50e3, 200e3}) {
        for (const double events_ns : {500.0, 3'000.0, 9'000.0}) {
            INFO(rate << " launches/s, " << events_ns << " ns each");
            const std::vector<ThreadLoad> loads = {load_of(rate, 20, events_ns),
                                                   load_of(rate / 2, 20, events_ns)};
            const Plan plan = decided(loads);
            CHECK(share_taken(plan, loads) <= 0.01);
            if (plan.every > 1) CHECK(share_taken({plan.open_ns, plan.every / 2}, loads) > 0.01);
            if (plan.every == 1 && plan.open_ns < kSlotNs)
                CHECK(share_taken({plan.open_ns * 25 / 12, 1}, loads) > 0.01);
        }
    }
    CHECK(decided({load_of(1e3, 20, 3'000)}).open_ns == kSlotNs);
    CHECK(decided({load_of(20e3, 20, 3'000)}).open_ns == kSlotNs / 8);
    CHECK(decided({load_of(200e3, 20, 3'000)}).every == 4);
}

TEST_CASE("without loads everything is timed; beyond the budget as little as there is", "[governor]") {
    CHECK(decided({}).open_ns == kSlotNs);
    const Plan least = decided({load_of(1e6, 20, 3'000)});
    CHECK(least.every == int64_t{1} << 12);
}

TEST_CASE("what varies by a fifth does not make it hunt", "[governor]") {
    Governor governor(0.01);
    int changes = 0;
    Plan last = {0, 0};
    for (int slot = 0; slot < 200; ++slot) {
        const double noise = 1 + 0.2 * std::sin(slot * 1.7);
        const std::vector<ThreadLoad> loads = {load_of(19e3 * noise, 20, 3'000)};
        const Plan plan = governor.decide(loads);
        CHECK(share_taken(plan, loads) <= 0.01);
        changes += slot > 20 && (plan.open_ns != last.open_ns || plan.every != last.every) ? 1 : 0;
        last = plan;
    }
    CHECK(changes == 0);
}

TEST_CASE("when there is less to time, more of it is timed again", "[governor]") {
    Governor governor(0.01);
    const std::vector<ThreadLoad> busy = {load_of(200e3, 20, 3'000)}, quiet = {load_of(1e3, 20, 3'000)};
    CHECK(governor.decide(busy).every > 1);
    CHECK(governor.decide(quiet).open_ns == kSlotNs);
    CHECK(governor.decide(busy).every > 1);
}

}  // namespace governor_test
