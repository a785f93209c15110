#include "shim/windows/own_cost.h"

#include "rings.h"

namespace own_cost_test {

using namespace gpushim;
using namespace gpushim::shim;

namespace {

constexpr int64_t kMs = 1'000'000;

ClockPair after(const ClockPair& begin, int64_t ns) {
    return {begin.ticks + static_cast<uint64_t>(ns), begin.mono_ns + ns, begin.real_ns + ns};
}

// Of this thread; our own threads stand behind it.
double always_share(OwnCost& cost) { return cost.take_loads(1).front().always_share; }

}  // namespace

TEST_CASE("what the first moment took is held against a second", "[own_cost]") {
    rings::Recording recording;
    REQUIRE(rings::record());
    const ClockPair begin = read_pair(kMonotonic);
    OwnCost cost(kMonotonic, begin);
    cost.measure(begin, false);
    cost.take_loads(1);
    REQUIRE(rings::record());
    thread_state.ring->host_ticks += 5 * kMs;
    cost.measure(after(begin, 30 * kMs), false);
    const double share = always_share(cost);
    CHECK(share >= 0.005);
    CHECK(share < 0.006);
}

TEST_CASE("… and what a longer time took against that", "[own_cost]") {
    rings::Recording recording;
    REQUIRE(rings::record());
    const ClockPair begin = read_pair(kMonotonic);
    OwnCost cost(kMonotonic, begin);
    cost.measure(begin, false);
    cost.take_loads(1);
    REQUIRE(rings::record());
    thread_state.ring->host_ticks += 50 * kMs;
    cost.measure(after(begin, 5'000 * kMs), false);
    CHECK(always_share(cost) == Approx(0.01).epsilon(0.01));
}

// Two rows take our threads what they have taken; each timed operation counts as one and a half.
TEST_CASE("our own threads pay for what is timed, not for the time that a window is open", "[own_cost]") {
    rings::Recording recording;
    REQUIRE(rings::record());
    const ClockPair begin = read_pair(kMonotonic);
    OwnCost cost(kMonotonic, begin);
    cost.measure(begin, true);
    add_harvest_ns(40 * kMs);  // as if the writer had taken it
    cost.take_loads(0.01);
    cost.measure(after(begin, 1'000 * kMs), true);
    CHECK(cost.own_ever_ns() == 0);
    thread_state.ring->timed += 10;
    cost.measure(after(begin, 1'100 * kMs), true);
    const int64_t ten_ns = cost.own_ever_ns();
    CHECK(ten_ns > 0);
    thread_state.ring->timed += 10;
    cost.measure(after(begin, 1'200 * kMs), true);
    CHECK(cost.own_ever_ns() == Approx(2 * ten_ns).margin(1));
}

}  // namespace own_cost_test
