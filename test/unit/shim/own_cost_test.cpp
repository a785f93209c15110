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

// What is said to be always taken of this thread, of which so much was taken in so long a time: our own
// threads stand behind it.
double always_share(int64_t taken_ns, int64_t span_ns) {
    rings::Recording recording;
    REQUIRE(rings::record());
    const ClockPair begin = read_pair(kMonotonic);
    OwnCost cost(kMonotonic, begin);
    cost.measure(begin, false);
    cost.take_loads(1);
    REQUIRE(rings::record());
    thread_state.ring->host_ticks += static_cast<uint64_t>(taken_ns);
    cost.measure(after(begin, span_ns), false);
    return cost.take_loads(1).front().always_share;
}

}  // namespace

TEST_CASE("what the first moment took is held against a second", "[own_cost]") {
    const double share = always_share(5 * kMs, 30 * kMs);
    CHECK(share >= 0.005);
    CHECK(share < 0.006);
}

TEST_CASE("… and what a longer time took against that", "[own_cost]") {
    CHECK(always_share(50 * kMs, 5'000 * kMs) == Approx(0.01).epsilon(0.01));
}

// The writer's beginning tells nothing, 10 rows neither; 4,000 rows in 40 ms do.
TEST_CASE("our own threads pay for what is timed, not for the time that a window is open", "[own_cost]") {
    rings::Recording recording;
    REQUIRE(rings::record());
    const ClockPair begin = read_pair(kMonotonic);
    OwnCost cost(kMonotonic, begin);
    int64_t now_ns = 0;
    const auto second = [&](uint64_t events, uint64_t timed, int64_t took_ns) {
        const int64_t before_ns = cost.own_ever_ns();
        thread_state.ring->head += events + timed;
        thread_state.ring->timed += timed;
        add_harvest_ns(took_ns);  // as if the writer had taken it
        cost.measure(after(begin, now_ns += 1'000 * kMs), true);
        cost.take_loads(0.01);
        return cost.own_ever_ns() - before_ns;
    };
    CHECK(second(4000, 100, 400 * kMs) == 0);
    CHECK(second(10, 100, 400 * kMs) == 0);
    CHECK(second(4000, 0, 40 * kMs) == 0);
    CHECK(second(0, 0, 0) == 0);
    const int64_t paid_ns = second(0, 10, 0);
    // Of 10 us a row one and a half, by 1 % of the program for 1 % that is left of a core.
    CHECK(paid_ns > 10 * 10'000);
    CHECK(paid_ns < 10 * 40'000);
    thread_state.ring->head -= 8220;
}

}  // namespace own_cost_test
