#include "windows.h"

#include <algorithm>
#include <array>

#include "../base/config.h"
#include "../program/capture_range.h"
#include "../ring/clock.h"
#include "../timing/contexts.h"
#include "../timing/event_pool.h"
#include "../timing/operation_events.h"
#include "own_cost.h"
#include "window_slots.h"

namespace gpushim::shim {
namespace {

constinit std::deque<Window>* closed_windows = nullptr;
constinit WindowSpan newest = {0, 0};

// The harvest has made events somewhere, or CUPTI tells: before, a window would be empty.
bool can_be_timed() {
    if (is_timed_by_records()) return true;
    NumberedContext contexts[kMostPools];
    const size_t count = std::min(numbered_contexts(contexts, kMostPools), size_t{kMostPools});
    return std::any_of(contexts, contexts + count, [](const NumberedContext& context) {
        const EventPool* pool = pool_of(context.number);
        return pool != nullptr && pool->made() != 0;
    });
}

ClockPair read_clock() { return read_pair(static_cast<ClockKind>(process_state->clock_kind)); }

class Windows : public Observer {
  public:
    Windows()
        : first_(read_clock()),
          cost_(static_cast<ClockKind>(process_state->clock_kind), first_),
          slots_(config.budget_share) {
        closed_windows = &slots_.closed();
    }

    int64_t look(const Moment& now) override {
        const ClockPair pair = read_clock();
        cost_.measure(pair, slots_.is_open());
        const bool is_range = is_range_asked();
        const int64_t next_ns = look_at_slots(now, !is_range);
        is_range ? look_at_range(now) : tell_threads(pair);
        if (!is_range) newest = {slots_.from_ns(), slots_.until_ns()};
        if (now.ending) cost_.finish_second();
        return next_ns;
    }

    std::span<Rows* const> rows() override { return tables_; }

    // Of a range that was asked for the events say when it began and ended.
    void stored(std::span<const Event> events, std::span<const TimedOperation>) override {
        if (!is_range_asked() || !wants_device_times()) return;
        for (const Event& event : events) {
            if (event.slot.kind != static_cast<uint8_t>(EventKind::marker)) continue;
            const auto marker = static_cast<Marker>(words_of<event::marker>(event.slot).what);
            if (marker == Marker::resume) begin_range(event.enter_ns);
            if (marker == Marker::rest) end_range(event.enter_ns);
        }
    }

  private:
    int64_t look_at_slots(const Moment& now, bool are_slots_timed) {
        if (!can_be_timed_) {
            can_be_timed_ = can_be_timed();
            // What CUPTI takes of the program's time cannot be measured from here, nor saved by leaving
            // operations out: it costs whether anybody looks or not.
            if (is_timed_by_records()) slots_ = WindowSlots(1);
        }
        const bool is_on = are_slots_timed && wants_device_times() && recording() && can_be_timed_;
        const Spent spent = {cost_.busiest_ns(), cost_.busiest_ever_ns(), cost_.own_ever_ns(),
                             cost_.device_time_ns(), static_cast<int64_t>(legacy_events())};
        return slots_.look(now, is_on, spent, [&] { return cost_.take_loads(config.budget_share); });
    }

    void tell_threads(const ClockPair& now) {
        if (!slots_.is_open()) return process_state->timing.store(0);
        const uint64_t from = ticks_at(slots_.from_ns(), now);
        // Better known with every pass. Threads that read it in between see one or the other.
        process_state->window_until.store(
            slots_.until_ns() == WindowSlots::kForEver ? UINT64_MAX : ticks_at(slots_.until_ns(), now));
        if (told_from_ns_ == slots_.from_ns()) return process_state->timing.store(1);
        told_from_ns_ = slots_.from_ns();
        process_state->timing.store(0);
        process_state->window_from.store(from);
        process_state->timing.store(1);
    }

    uint64_t ticks_at(int64_t mono_ns, const ClockPair& now) const {
        const auto passed_ns = static_cast<double>(now.mono_ns - first_.mono_ns);
        const auto passed = static_cast<double>(now.ticks - first_.ticks);
        const double rate = process_state->clock_kind == kCounter && passed_ns > 0 ? passed / passed_ns : 1;
        return now.ticks +
               static_cast<uint64_t>(static_cast<int64_t>(static_cast<double>(mono_ns - now.mono_ns) * rate));
    }

    // What rests is not timed whatever is said here.
    void look_at_range(const Moment& now) {
        process_state->window_until.store(UINT64_MAX);
        process_state->timing.store(wants_device_times() && !now.ending ? 1 : 0);
        if (now.ending) end_range(now.mono_ns);
    }
    void begin_range(int64_t ns) {
        range_from_ns_ = ns;
        newest = {ns, INT64_MAX};
        range_cost_ns_ = cost_.device_time_ns();
        range_legacy_ = static_cast<int64_t>(legacy_events());
    }
    void end_range(int64_t ns) {
        if (range_from_ns_ == kNone || ns <= range_from_ns_) return;
        newest.until_ns = ns;
        slots_.closed().push_back({range_from_ns_, ns, kNull, ns - range_from_ns_,
                                   cost_.device_time_ns() - range_cost_ns_,
                                   static_cast<int64_t>(legacy_events()) - range_legacy_});
        range_from_ns_ = kNone;
    }

    static constexpr int64_t kNone = INT64_MIN;

    ClockPair first_;
    OwnCost cost_;
    WindowSlots slots_;
    bool can_be_timed_ = false;
    int64_t told_from_ns_ = kNone;
    int64_t range_from_ns_ = kNone;
    int64_t range_cost_ns_ = 0;
    int64_t range_legacy_ = 0;
    std::array<Rows*, 1> tables_ = {&cost_.rows()};
};

}  // namespace

WindowSpan newest_window() { return newest; }

bool next_closed_window(Window& window) {
    if (closed_windows == nullptr || closed_windows->empty()) return false;
    window = closed_windows->front();
    closed_windows->pop_front();
    return true;
}

std::unique_ptr<Observer> make_windows(std::span<const Device>) { return std::make_unique<Windows>(); }

}  // namespace gpushim::shim
