// When operations get events of ours, by the clock: slot k is [k * 10 s, (k + 1) * 10 s) of CLOCK_REALTIME,
// the same on every rank; the first part of every n-th is timed, as the governor says.
//
//   slot      k               k+1             k+2
//   real   ---|---------------|---------------|------
//   1st run    [===)           [===)           [===)
//   2nd run    [=====)         [=====)         [=====)
//
// A run may be over before its first slot is. In the first 50 s it pays as it goes: a window begins at once,
// and then every 2.5 s of the clock, soon every 5 and every 10, and is over when what has been saved is
// spent. A run that ends in them has paid its budget's share and what 2.5 s allow, at most, and not only how
// it starts is timed; windows become longer with the run, until one a slot is what they are.
//
//   real   ---|---.---.---.---|-------.-------|---------------|------
//   run        [=)[=) [=) [=) [=)     [==)    [====)          [====)
//
// Pure: told the time and what was spent, it says what is to be open. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "../rows/observer.h"
#include "governor.h"
#include "windows.h"

namespace gpushim::shim {

// What events of ours have cost the program's threads.
struct Spent {
    int64_t busiest_ns;     // in the thread that paid most, since the newest decision
    int64_t ever_ns;        // what that is of all decisions so far
    int64_t own_ever_ns;    // what our own threads have taken for what was timed, as if it were the program's
    int64_t total_ns;       // ever, in all
    int64_t legacy_events;  // ever
};

class WindowSlots {
  public:
    explicit WindowSlots(double budget_share)
        : budget_share_(budget_share), governor_(budget_share), left_share_(budget_share) {}

    // How long it may be until the next look. `is_on`: operations are recorded, and events are there for
    // them.
    // `take_loads` is asked at each decision, and of a young run at each beat that may have a window.
    using TakeLoads = std::function<std::vector<ThreadLoad>()>;
    int64_t look(const Moment& now, bool is_on, const Spent& spent, const TakeLoads& take_loads);

    bool is_open() const { return is_open_; }  // now, or soon; else from_ns and until_ns are the last one's
    int64_t from_ns() const { return from_ns_; }
    int64_t until_ns() const { return until_ns_; }  // kForEver: until something else is said

    std::deque<Window>& closed() { return closed_; }

    static constexpr int64_t kForEver = INT64_MAX;
    static constexpr int64_t kLeadNs = 200'000'000;
    // Threads see late that a window is open: what is to be in it begins a little later.
    static constexpr int64_t kNoticeNs = 100'000;
    static constexpr int64_t kBeatNs = 2'500'000'000;
    static constexpr int64_t kYoungNs = 50'000'000'000;

  private:
    struct Piece {  // the part of what is open that is in one slot
        int64_t slot;
        int64_t from_ns;
        int64_t planned_ns;
        int64_t total_ns;
        int64_t legacy_events;
    };

    void move_on(const Moment& now, const Spent& spent);
    void decide(int64_t slot, int64_t now_ns, const std::vector<ThreadLoad>& loads);
    void learn(int64_t now_ns, const std::vector<ThreadLoad>& loads);
    void plan_slot(const Moment& now, int64_t slot, const Spent& spent);
    bool is_new_beat(const Moment& now);
    int64_t allowance_ns(int64_t from_ns) const;
    void go_on(const Moment& now, const Spent& spent);
    void begin_to_pay(int64_t from_ns, const Spent& spent);
    void plan_beat(const Moment& now, const Spent& spent);
    void open(int64_t from_ns, int64_t until_ns, int64_t slot, int64_t slot_end_ns, const Spent& spent);
    void begin_piece(int64_t slot, int64_t from_ns, int64_t end_ns, const Spent& spent);
    void end_piece(int64_t until_ns, const Spent& spent);
    void close(int64_t until_ns, const Spent& spent);
    int64_t share_of(int64_t ns) const { return static_cast<int64_t>(left_share_ * static_cast<double>(ns)); }
    int64_t earned_ns(int64_t now_ns) const { return earned_ns_ + share_of(now_ns - earned_until_ns_); }
    int64_t saved_ns(int64_t now_ns) const;
    int64_t paid_since_open_ns(const Spent& spent) const;
    bool is_spent(const Moment& now, const Spent& spent) const;
    int64_t lasts_ns(const Moment& now, const Spent& spent) const;
    int64_t time_left(const Moment& now, const Spent& spent) const;
    int64_t begin_of(int64_t slot, const Moment& now) const {
        return slot * kSlotNs - (now.real_ns - now.mono_ns);
    }

    static constexpr int64_t kNoSlot = INT64_MIN, kNever = INT64_MIN;

    double budget_share_;
    Governor governor_;
    Plan plan_ = {kSlotNs, 1};
    int64_t decided_ = kNoSlot;  // the newest slot that has a plan
    bool is_open_ = false;
    int64_t from_ns_ = 0;
    int64_t until_ns_ = 0;
    double left_share_;         // of the budget: what is always taken is not in it
    int64_t allowance_ns_ = 0;  // for the slot, or for the window of a young run
    int64_t began_ns_ = kNever;
    bool is_young_ = true;
    int64_t beat_ = kNoSlot;  // the newest that was looked at
    bool is_first_beat_ = true;
    // Of a young run: what it had earned when its loads were last known; what it has paid for windows that
    // are over, what it had when this one began, and since when this one earns.
    int64_t earned_ns_ = 0, earned_until_ns_ = 0;
    int64_t paid_ns_ = 0;
    int64_t earns_from_ns_ = 0;
    int64_t ever_before_ns_ = 0;
    int64_t own_before_ns_ = 0;
    Piece piece_ = {};
    std::deque<Window> closed_;
};

}  // namespace gpushim::shim
