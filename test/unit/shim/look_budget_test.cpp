// How often graphs may be looked at, by any thread.
#include "shim/hooks/look_budget.h"

#include <catch2/catch.hpp>

namespace look_budget_test {

using namespace gpushim::shim;

namespace {

constexpr uint64_t kStart = 1'000'000'000, kAtOnce = 500;

// What looks of `each` took when one is wanted every `apart` from `from` until `until`.
uint64_t taken(LookBudget& budget, uint64_t each, uint64_t apart, uint64_t from, uint64_t until) {
    uint64_t sum = 0;
    for (uint64_t now = from; now < until; now += apart) {
        if (!budget.allows(now)) continue;
        sum += each;
        budget.took(each, now, kAtOnce);
    }
    return sum;
}

}  // namespace

TEST_CASE("looks take a hundredth of the time, and so much at once", "[look_budget]") {
    LookBudget budget;
    const uint64_t length = 10'000'000;
    const uint64_t sum = taken(budget, 10, 20, kStart, kStart + length);
    CHECK(sum >= length / 100);
    CHECK(sum <= length / 100 + kAtOnce + 10);
}

TEST_CASE("who looks seldom is never refused", "[look_budget]") {
    LookBudget budget;
    CHECK(taken(budget, 10, 2'000, kStart, kStart + 10'000'000) == 5'000 * 10);
}

TEST_CASE("what was saved for long is no more than what may be taken at once", "[look_budget]") {
    LookBudget budget;
    taken(budget, 10, 20, kStart, kStart + 1'000'000);
    const uint64_t later = kStart + 1'000'000'000;
    const uint64_t sum = taken(budget, 10, 1, later, later + 200);
    CHECK(sum >= kAtOnce);
    CHECK(sum <= kAtOnce + 20);
}

TEST_CASE("one look that takes long is paid for before the next", "[look_budget]") {
    LookBudget budget;
    budget.took(100'000, kStart, kAtOnce);
    CHECK_FALSE(budget.allows(kStart + 100'000 * 99 - kAtOnce * 100));
    CHECK(budget.allows(kStart + 100'000 * 100));
}

TEST_CASE("a clock that has just begun is no reason to refuse", "[look_budget]") {
    LookBudget budget;
    CHECK(budget.allows(0));
    budget.took(1, 1, kAtOnce);
    CHECK(budget.allows(101));
}

}  // namespace look_budget_test
