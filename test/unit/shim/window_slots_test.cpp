#include "shim/windows/window_slots.h"

#include <catch2/catch.hpp>
#include <vector>

namespace window_slots_test {

using namespace gpushim::shim;

namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kSecond = 1'000 * kMs;
constexpr int64_t kFirstSlot = 160;  // of the clock that starts at 0
constexpr int64_t kAheadNs = kFirstSlot * kSlotNs;

// A process that begins at `now_ns_` of its own clock and looks every 10 ms; while a window is open events of
// ours take `window_share` of its one thread's time.
class Process {
  public:
    Process(double budget, double window_share, int64_t begins_ns = 0)
        : slots_(budget), window_share_(window_share), now_ns_(begins_ns) {}

    void run_until(int64_t ns, int64_t every_ns = 10 * kMs) {
        for (; now_ns_ <= ns; now_ns_ += every_ns) look(every_ns, false);
    }
    void look(int64_t passed_ns, bool ending) {
        if (is_on && slots_.is_open() && now_ns_ > slots_.from_ns() && now_ns_ <= slots_.until_ns()) {
            add(static_cast<int64_t>(window_share_ * static_cast<double>(passed_ns)));
            spent_.own_ever_ns += static_cast<int64_t>(own_share * static_cast<double>(passed_ns));
        }
        slots_.look({now_ns_, now_ns_ + kAheadNs, ending}, is_on, spent_, [&] {
            spent_.busiest_ns = 0;
            return std::vector<ThreadLoad>{{always_share, window_share_}};
        });
    }
    void skip(int64_t ns) { now_ns_ += ns; }
    void end() { look(0, true); }

    std::vector<Window> closed() { return {slots_.closed().begin(), slots_.closed().end()}; }
    const WindowSlots& slots() const { return slots_; }
    int64_t total_ns() const { return spent_.total_ns; }
    bool is_on = true;
    double always_share = 0;
    double own_share = 0;  // what our own threads take while a window is open, as if it were the program's

  private:
    void add(int64_t ns) {
        spent_.busiest_ns += ns;
        spent_.ever_ns += ns;
        spent_.total_ns += ns;
    }

    WindowSlots slots_;
    double window_share_;
    int64_t now_ns_;
    Spent spent_ = {};
};

}  // namespace

// real     0s ......... 10s ......... 20s ......... 30s
// windows   3 s [======|=============|====          ends at 24 s
TEST_CASE("with everything timed, windows lie side by side, one for each slot", "[window_slots]") {
    Process process(1, 0.5, 3 * kSecond);
    process.run_until(24 * kSecond - 10 * kMs);
    process.look(0, false);
    process.end();
    const auto windows = process.closed();
    REQUIRE(windows.size() == 3);
    CHECK(windows[0].from_ns == 3 * kSecond + WindowSlots::kNoticeNs);
    CHECK(windows[0].until_ns == 10 * kSecond);
    CHECK(windows[0].slot == kFirstSlot);
    CHECK(windows[0].planned_ns == 7 * kSecond - WindowSlots::kNoticeNs);
    CHECK(windows[1].from_ns == 10 * kSecond);
    CHECK(windows[1].until_ns == 20 * kSecond);
    CHECK(windows[1].planned_ns == 10 * kSecond);
    CHECK(windows[2].from_ns == 20 * kSecond);
    CHECK(windows[2].until_ns == 24 * kSecond);
}

// A load of 6 %: 25 ms pay for 500 ms, with what is earned meanwhile.
TEST_CASE("a run pays as it goes, whenever it ends", "[window_slots]") {
    Process process(0.01, 0.06, 1'300 * kMs);
    for (int64_t until_ns = 1'300 * kMs; until_ns <= 59 * kSecond; until_ns += 100 * kMs) {
        process.run_until(until_ns);
        INFO(until_ns);
        REQUIRE(process.total_ns() <= (until_ns - 1'300 * kMs + WindowSlots::kBeatNs) / 100 + kMs);
    }
    const auto windows = process.closed();
    std::vector<int64_t> begins;
    for (const Window& window : windows) {
        CHECK(window.slot == kFirstSlot + window.from_ns / kSlotNs);
        begins.push_back(window.from_ns / kMs);
    }
    CHECK(begins ==
          std::vector<int64_t>{1'300, 2'500, 5'000, 7'500, 10'000, 15'000, 20'000, 30'000, 40'000, 50'000});
    const auto length = [&](size_t i) { return windows[i].until_ns - windows[i].from_ns; };
    CHECK(length(2) > 300 * kMs);
    CHECK(length(5) > 3 * length(2) / 2);
    CHECK(length(8) > 3 * length(5) / 2);
    CHECK(process.total_ns() > 500 * kMs);
}

// Its first look is at 1 s, in the slot from 0 to 10 s.
TEST_CASE("a run that took much as it started has windows when it takes less", "[window_slots]") {
    Process process(0.01, 0.06, kSecond);
    process.always_share = 0.02;
    process.run_until(2 * kSecond);
    CHECK_FALSE(process.slots().is_open());
    process.always_share = 0.002;
    process.run_until(6 * kSecond);
    process.always_share = 0.02;
    process.run_until(9 * kSecond);
    process.end();
    const auto windows = process.closed();
    REQUIRE(windows.size() == 2);
    CHECK(windows[0].from_ns == 2'500 * kMs);
    CHECK(windows[1].from_ns == 5'000 * kMs);
}

// It compiles until 23 s, and then pays 50 % of its time while a window is open.
TEST_CASE("a run that did nothing for long is timed beat by beat afterwards", "[window_slots]") {
    Process process(0.01, 0, kSecond);
    process.run_until(23 * kSecond);
    process.own_share = 0.5;
    process.run_until(33 * kSecond);
    process.end();
    auto windows = process.closed();
    std::erase_if(windows, [](const Window& window) { return window.until_ns < 23 * kSecond; });
    REQUIRE(windows.size() >= 5);
    // The one that was open; then one every 2.5 s. At 30 s it is the turn of one that may be as long as four.
    for (size_t i = 0; i < windows.size(); ++i) {
        const int64_t from_ns = std::max(windows[i].from_ns, 23 * kSecond);
        INFO(i << ": " << from_ns / kMs << " to " << windows[i].until_ns / kMs);
        CHECK(windows[i].until_ns - from_ns < (from_ns == 30 * kSecond ? 230 : 110) * kMs);
        if (i > 0) CHECK(from_ns == 25 * kSecond + static_cast<int64_t>(i - 1) * 2'500 * kMs);
    }
}

TEST_CASE("what little a run pays while it compiles is no reason to time all of its first moment",
          "[window_slots]") {
    Process process(0.01, 0, kSecond);
    process.own_share = 0.005;
    process.run_until(23 * kSecond);
    process.own_share = 0.5;
    process.run_until(33 * kSecond);
    process.end();
    const auto windows = process.closed();
    REQUIRE(windows.size() >= 4);
    const Window& last = windows.back();
    CHECK(last.from_ns > 24 * kSecond);
    for (const Window& window : windows)
        if (window.until_ns > 23 * kSecond)
            CHECK(window.until_ns - std::max(window.from_ns, 23 * kSecond) < 260 * kMs);
}

// Outside of windows it takes 0.9 % of the time until 20 s, and then nothing.
TEST_CASE("what a run earned while it took much is not more because it takes less now", "[window_slots]") {
    Process process(0.01, 0.5, 0);
    process.always_share = 0.009;
    process.run_until(20 * kSecond);
    const int64_t before_ns = process.total_ns();
    process.always_share = 0;
    process.run_until(30 * kSecond + 300 * kMs);
    // 1 % of 10 s, 0.1 % of 20 s, and 25 ms in advance.
    CHECK(process.total_ns() <= 100 * kMs + 20 * kMs + 25 * kMs + 10 * kMs);
    CHECK(process.total_ns() - before_ns > 60 * kMs);
}

TEST_CASE("a run that is no longer young has one window a slot", "[window_slots]") {
    Process process(0.01, 0.06, 2 * kSecond);
    process.run_until(122 * kSecond);
    process.end();
    auto windows = process.closed();
    std::erase_if(windows, [](const Window& window) { return window.from_ns < 60 * kSecond; });
    REQUIRE(windows.size() == 7);
    for (size_t i = 0; i < windows.size(); ++i) {
        INFO(i);
        CHECK(windows[i].slot == kFirstSlot + 6 + static_cast<int64_t>(i));
        CHECK(windows[i].from_ns == 60 * kSecond + static_cast<int64_t>(i) * 10 * kSecond);
        CHECK(windows[i].until_ns - windows[i].from_ns == 1250 * kMs);
        CHECK(windows[i].planned_ns == 1250 * kMs);
    }
    CHECK(process.total_ns() <= 1'220 * kMs);
}

TEST_CASE("what our own threads take ends a window, and a time without operations costs nothing",
          "[window_slots]") {
    Process process(0.01, 0);
    process.run_until(4 * kSecond);
    REQUIRE(process.slots().is_open());
    process.own_share = 0.5;
    process.run_until(4'500 * kMs);
    process.end();
    const auto windows = process.closed();
    REQUIRE(windows.size() == 1);
    // 25 ms, and what it has earned since 2.3 s.
    CHECK(windows[0].until_ns > 4'050 * kMs);
    CHECK(windows[0].until_ns < 4'150 * kMs);
}

// A moment of it takes 1 ms of the program's time.
TEST_CASE("what a run has not used for long is not spent at once", "[window_slots]") {
    Process process(0.01, 0.5, 0);
    process.run_until(kSecond);
    process.is_on = false;
    process.run_until(40 * kSecond);
    process.is_on = true;
    const int64_t before_ns = process.total_ns();
    process.run_until(41 * kSecond);
    CHECK(process.total_ns() - before_ns > 100 * kMs);
    CHECK(process.total_ns() - before_ns < 120 * kMs);
}

TEST_CASE("a heavy load has a window in every 2^j-th slot, those whose number it divides", "[window_slots]") {
    Process process(0.01, 0.5, 1 * kSecond);
    process.run_until(210 * kSecond);
    auto windows = process.closed();
    std::erase_if(windows, [](const Window& window) { return window.from_ns < 60 * kSecond; });
    REQUIRE(windows.size() == 4);
    for (size_t i = 0; i < windows.size(); ++i) {
        CHECK(windows[i].slot % 4 == 0);
        // The slot's allowance is that of four: no window is cut short.
        CHECK(windows[i].until_ns - windows[i].from_ns == 600 * kMs);
    }
}

TEST_CASE("the windows of two processes lie within each other", "[window_slots]") {
    Process light(0.01, 0.02, 3 * kSecond), heavy(0.01, 0.2, 14 * kSecond);
    light.run_until(120 * kSecond, 7 * kMs);
    heavy.run_until(120 * kSecond, 13 * kMs);
    size_t inside = 0, all = 0;
    for (const Window& small : heavy.closed()) {
        if (small.from_ns % kSlotNs != 0) continue;  // the first, or of beats that only the younger has
        ++all;
        for (const Window& large : light.closed())
            inside += large.slot == small.slot && large.from_ns == small.from_ns &&
                      large.until_ns >= small.until_ns;
    }
    CHECK(inside == all);
    CHECK(inside > 6);
}

TEST_CASE("who looks late opens late, and says so", "[window_slots]") {
    Process process(0.01, 0.04, 1 * kSecond);
    process.run_until(78 * kSecond);
    process.skip(3 * kSecond);
    process.run_until(84 * kSecond);
    const Window window = process.closed().back();
    CHECK(window.from_ns == 81'010 * kMs + WindowSlots::kNoticeNs);
    CHECK(window.until_ns == 82'500 * kMs);
    CHECK(window.planned_ns == 1'490 * kMs - WindowSlots::kNoticeNs);
}

TEST_CASE("a jump over whole slots ends a window where it was to end", "[window_slots]") {
    Process process(0.01, 0.06, 1 * kSecond);
    process.run_until(61 * kSecond - 10 * kMs);
    REQUIRE(process.slots().is_open());
    process.skip(30 * kSecond);
    process.run_until(91 * kSecond);
    const Window window = process.closed().back();
    CHECK(window.from_ns == 60 * kSecond);
    CHECK(window.until_ns == 61'250 * kMs);
}

TEST_CASE("a young run that is not looked at for long times no longer than 2.5 s more", "[window_slots]") {
    Process process(0.01, 0.06, 1 * kSecond);
    process.run_until(5'100 * kMs);
    REQUIRE(process.slots().is_open());
    process.skip(30 * kSecond);
    process.look(0, false);
    const Window window = process.closed().back();
    CHECK(window.from_ns == 5 * kSecond);
    CHECK(window.until_ns == 7'600 * kMs);
}

TEST_CASE("a young run that pays less than it may is timed all the time", "[window_slots]") {
    Process process(0.01, 0.009, 1 * kSecond);
    process.run_until(54 * kSecond);
    process.end();
    const auto windows = process.closed();
    REQUIRE(windows.size() == 6);
    for (size_t i = 1; i < windows.size(); ++i) CHECK(windows[i].from_ns == windows[i - 1].until_ns);
}

TEST_CASE("while nothing is recorded nothing is open; afterwards it begins at once", "[window_slots]") {
    Process process(0.01, 0.001);
    process.run_until(4 * kSecond);
    process.is_on = false;
    process.run_until(6 * kSecond);
    CHECK_FALSE(process.slots().is_open());
    process.is_on = true;
    process.run_until(7 * kSecond);
    process.end();
    const auto windows = process.closed();
    REQUIRE(windows.size() == 2);
    CHECK(windows[0].until_ns == 4 * kSecond + 10 * kMs);
    CHECK(windows[1].from_ns == 6 * kSecond + 10 * kMs + WindowSlots::kNoticeNs);
}

}  // namespace window_slots_test
