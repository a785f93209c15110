#include "engine/mover.h"

#include <atomic>
#include <memory>
#include <vector>

#include "box.h"
#include "engine/engine.h"

namespace mover_test {

using namespace gpusim;

namespace {

constexpr int64_t kLarge = 1 << 20;

uint64_t push(mover::Job job, int64_t bytes) {
    const auto held = engine::lock();
    return mover::push(std::move(job), bytes);
}

}  // namespace

TEST_CASE("bytes move in the order in which they were pushed", "[mover]") {
    std::vector<int> moved;
    uint64_t last = 0;
    for (int i = 0; i < 200; ++i) {
        const uint64_t ticket = push([&moved, i] { moved.push_back(i); }, i % 3 == 0 ? kLarge : 1);
        CHECK(ticket > last);
        last = ticket;
    }
    mover::wait(last);
    CHECK(mover::done(last));
    REQUIRE(moved.size() == 200);
    for (int i = 0; i < 200; ++i) CHECK(moved[static_cast<size_t>(i)] == i);
    CHECK(mover::newest() == last);
}

TEST_CASE("a large job does not hold up the thread that pushes it, a small one behind it waits its turn",
          "[mover]") {
    std::atomic<bool> go{false}, small_moved{false};
    const auto large = push(
        [&] {
            while (!go) {
            }
        },
        kLarge);
    const auto small = push([&] { small_moved = true; }, 1);
    CHECK_FALSE(mover::done(large));
    CHECK_FALSE(small_moved);
    go = true;
    mover::wait(small);
    CHECK(small_moved);
    CHECK(mover::done(large));
}

TEST_CASE("a small job moves at once when nothing waits before it", "[mover]") {
    bool moved = false;
    const auto ticket = push([&] { moved = true; }, 1);
    CHECK(moved);
    CHECK(mover::done(ticket));
    CHECK_FALSE(mover::done(ticket + 1));
}

TEST_CASE("in stepped mode all bytes move at once", "[mover]") {
    ::box::knobs("GPUSIM_CLOCK=stepped");
    bool moved = false;
    CHECK(mover::done(push([&] { moved = true; }, kLarge)));
    CHECK(moved);
}

TEST_CASE("what a job holds is let go before it counts as done", "[mover]") {
    struct Slow {
        explicit Slow(std::atomic<bool>& flag) : gone(flag) {}
        ~Slow() {
            clock::sleep_until(clock::now() + 20'000'000);
            gone = true;
        }
        std::atomic<bool>& gone;
    };
    std::atomic<bool> gone{false};
    auto held = std::make_shared<Slow>(gone);
    mover::wait(push([held = std::move(held)] {}, kLarge));
    CHECK(gone);
}

}  // namespace mover_test
