// Which spans of 10 s have their rows in the trace, and which of them are the least worth keeping. The spans
// are slots of CLOCK_REALTIME, those of the windows (window_slots.h): every rank drops the same ones, as far
// as that is up to the clock. Pure; one thread.
//
//   dropped first, in this order            of a class
//     any          first those that are not whole any more, then by how many zeros end the slot's number in
//     binary, the fewest first: so what is left is
//                  every 2nd, 4th, 8th … slot; of those alike the oldest first
//     first        the first twelve (two minutes), the last of them first, while they have at most a quarter
//                  of the rows
//     asked        with a mark or while gpushim.keep is there, the oldest first, while at most half
//     slowest      the ten slowest, of them the fastest first. Slow: the longest mean step, of steps that end
//                  in it; where no slot has any, the lowest rate of launches among slots that have some
//     newest       the last two; what they have beyond half of the rows goes first of all
//     held         what of any slot is in a window, in the order of `any`, while it is at most half: without
//                  windows nothing is known of the GPU. Beyond half it goes as its slot does, after the rest
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace gpushim::shim {

// A window in a slot. Its rows are held apart: before from_ns they are gone.
struct HeldWindow {
    int64_t begin_ns;
    int64_t from_ns, until_ns;
    int64_t rows = 0;

    bool holds() const { return from_ns < until_ns; }
    bool has(int64_t ns) const { return ns >= begin_ns && ns < until_ns; }
};

struct KeptSlot {
    int64_t from_ns;  // CLOCK_MONOTONIC: its rows from here on, but for what is held
    int64_t rows = 0;
    int64_t launches = 0;
    int64_t steps = 0;         // that ended in it …
    int64_t step_ns = 0;       // … and took so long
    int64_t first_handle = 0;  // of those that were made in it or later; 0: not known
    bool asked = false;
    std::vector<HeldWindow> windows = {};  // by begin

    bool holds() const { return std::ranges::any_of(windows, &HeldWindow::holds); }
    HeldWindow* window_at(int64_t ns);
};

class KeptSlots {
  public:
    static constexpr int64_t kNone = INT64_MIN;

    // A slot's rows go in parts: those of each window, and the rest before.
    static constexpr int64_t kRest = -1;
    struct Part {
        int64_t slot;
        int64_t window;  // by its place, or kRest
        bool operator==(const Part&) const = default;
    };
    struct Span {
        int64_t from_ns, until_ns;
    };

    KeptSlots(int64_t started_mono_ns, int64_t started_real_ns)
        : started_ns_(started_mono_ns), offset_ns_(started_real_ns - started_mono_ns) {}

    int64_t number_of(int64_t mono_ns) const;
    int64_t begin_of(int64_t number) const;
    int64_t end_of(int64_t number) const { return begin_of(number + 1); }

    // The slot of that time, made where it is not kept; it counts as changed.
    KeptSlot& at(int64_t mono_ns);
    // A step has begun on that thread: the one before it is over.
    void mark(int64_t thread, int64_t mono_ns);
    // A step of that length, where the program does not mark them.
    void step(int64_t thread, int64_t from_ns, int64_t until_ns);
    // Of a trace that is opened again, after all slots are put.
    void load_window(int64_t from_ns, int64_t until_ns);
    void put(int64_t number, const KeptSlot& slot) { slots_[number] = slot; }
    void drop(int64_t number) { slots_.erase(number); }

    // Rows from now on may be of that window: the newest, whose end may change.
    void hold(int64_t from_ns, int64_t until_ns) { newest_window_ = {from_ns, until_ns}; }
    void add_row(KeptSlot& slot, int64_t ns);
    // Of that part the next that is to go. Nothing: it is empty.
    Span span_of(Part part) const;
    // Of the part's span everything is gone up to there, so many rows.
    void gone(Part part, int64_t until_ns, int64_t rows);
    bool is_over(int64_t number) const;

    // kNone: there is nothing at all, but `not_this`.
    Part least_worth(Part not_this) const;
    Part least_worth() const { return least_worth({kNone, kRest}); }

    bool has_rows_in(int64_t from_ns, int64_t until_ns) const;

    const std::map<int64_t, KeptSlot>& all() const { return slots_; }
    std::map<int64_t, KeptSlot>& all() { return slots_; }
    std::set<int64_t>& changed() { return changed_; }

    static constexpr int64_t kFirst = 12;
    static constexpr size_t kSlowest = 10;
    static constexpr int64_t kNewest = 2;
    static constexpr size_t kMostWindows = 16;  // of a slot; of more all from the last on is held

  private:
    struct Rows {
        int64_t all = 0, asked = 0, newest = 0, held = 0;
    };
    enum class Class { too_much, any, first, asked, slowest, newest, held };
    using Worth = std::tuple<Class, int64_t, int64_t>;
    using Slow = std::map<int64_t, int64_t>;  // with how slow they were

    int64_t first_newest() const;
    Rows count() const;
    Worth worth_of(int64_t number, const KeptSlot& slot, const Rows& rows, const Slow& slow,
                   int64_t first_rows) const;
    void widen(int64_t number, KeptSlot& slot);
    static void add_window(KeptSlot& slot, int64_t begin_ns, int64_t until_ns);
    double slowness(int64_t number, const KeptSlot& slot, bool by_steps) const;
    Slow slowest() const;
    bool is_stepping(int64_t thread, bool marks);
    void add_step(int64_t from_ns, int64_t until_ns);

    int64_t started_ns_;
    int64_t offset_ns_;
    std::map<int64_t, KeptSlot> slots_;
    std::set<int64_t> changed_;
    Span newest_window_ = {0, 0};
    int64_t stepping_thread_ = kNone;
    bool marks_ = false;
    int64_t last_mark_ns_ = 0;
};

}  // namespace gpushim::shim
