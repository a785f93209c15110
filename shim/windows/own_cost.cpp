#include "own_cost.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "../base/rounding.h"
#include "../base/system.h"
#include "../base/time_units.h"
#include "../ring/recorder.h"

namespace gpushim::shim {
namespace {

constexpr int64_t kRateAfterNs = 1'000'000;
constexpr size_t kMostRows = 16384;  // that wait
constexpr uint32_t kFewSlots = 512, kSlots = 8192;
constexpr int64_t kMeasureAfterNs = 1'000'000'000;
constexpr int64_t kMostEventNs = 20'000;  // that an event takes on any device
// What a moment took is held against so much: a program that starts makes many calls, and long pauses.
constexpr int64_t kLeastSpanNs = kSecond;

// Of a core, for our own threads; of what they take without windows; and how many rows a timed operation is
// worth.
constexpr double kOwnShare = 0.02, kOwnPart = 0.25, kTimedRows = 1.5;
// A writer that has just begun, or has little to do, takes long for each row: that tells nothing of others.
constexpr double kTellingRows = 2000;

constinit int64_t harvest_ns = 0, event_takes_ns = 0;

// A ring of nobody's, with room for so many events.
struct ScratchRing {
    explicit ScratchRing(uint32_t count) : slots(std::make_unique<Slot[]>(count)) {}
    std::unique_ptr<RingHeader> header = std::make_unique<RingHeader>();
    std::unique_ptr<Slot[]> slots;
};

// As a thunk does it. The slots are new to the cache, as they are there.
void record_one(ThreadState& thread, uint64_t value) {
    Slot* slot = open_slot(thread, 0, EventKind::launch, 0);
    if (slot == nullptr) return;
    slot->exit = ticks();
    for (uint64_t& word : slot->word) word = value;
    complete_slot(slot);
}

// The second time: the first takes the page faults.
double measured_event_ns(uint32_t slots) {
    ScratchRing ring(slots);
    int64_t took_ns = 0;
    for (int round = 0; round < 2; ++round) {
        ring.header->head.store(0);
        ThreadState thread = {};
        thread.ring = ring.header.get();
        thread.slots = ring.slots.get();
        thread.mask = slots - 1;
        thread.generation = process_state->generation;
        const int64_t from_ns = clock_ns(CLOCK_MONOTONIC);
        for (uint64_t i = 0; i < slots; ++i) record_one(thread, i);
        took_ns = clock_ns(CLOCK_MONOTONIC) - from_ns;
    }
    return static_cast<double>(took_ns) / slots;
}

bool has_slots(const Ring& ring) {
    const RingState state = ring.state.load(std::memory_order_acquire);
    return state == RingState::taken || state == RingState::left || state == RingState::spare;
}

}  // namespace

void add_harvest_ns(int64_t ns) { harvest_ns += ns; }
void say_event_takes(int64_t ns) { event_takes_ns = std::min(ns, kMostEventNs); }

// On the test clock the host's own time counts as nothing.
OwnCost::OwnCost(ClockKind clock, const ClockPair& now)
    : clock_(clock),
      first_(now),
      now_(now),
      row_ns_(now.mono_ns),
      loads_ns_(now.mono_ns),
      event_ns_(clock == kTestClock ? 0 : measured_event_ns(kFewSlots)),
      // What the thread took before is of no span of ours.
      writer_before_ns_(clock == kTestClock ? 0 : clock_ns(CLOCK_THREAD_CPUTIME_ID)) {}

void OwnCost::measure(const ClockPair& now, bool is_open) {
    now_ = now;
    if (!is_measured_ && now.mono_ns - first_.mono_ns >= kMeasureAfterNs && clock_ != kTestClock) {
        is_measured_ = true;
        event_ns_ = measured_event_ns(kSlots);
    }
    if (clock_ == kCounter && now.mono_ns - first_.mono_ns >= kRateAfterNs)
        ns_per_tick_ =
            static_cast<double>(now.mono_ns - first_.mono_ns) / static_cast<double>(now.ticks - first_.ticks);
    const std::span<Ring> rings = all_rings();
    seen_.resize(rings.size());
    for (size_t i = 0; i < rings.size(); ++i)
        if (has_slots(rings[i])) take_ring(rings[i], seen_[i], is_open);
    if (now.mono_ns - row_ns_ >= kSecond) add_row();
}

void OwnCost::take_ring(const Ring& ring, Seen& seen, bool is_open) {
    const RingHeader& header = *ring.header;
    if (seen.ring_id != header.ring_id) seen = {header.ring_id};
    // Relaxed: counts that order nothing. What a `timed` slot takes is in own_ticks.
    const Seen newest = {
        header.ring_id,
        header.head.load(std::memory_order_relaxed) - header.timed.load(std::memory_order_relaxed),
        header.own_ticks.load(std::memory_order_relaxed),
        header.host_ticks.load(std::memory_order_relaxed),
        header.own_events.load(std::memory_order_relaxed),
        header.wait_ticks.load(std::memory_order_relaxed),
        header.timed.load(std::memory_order_relaxed)};
    const uint64_t events = newest.events > seen.events ? newest.events - seen.events : 0;
    work_.events += events;
    const uint64_t timed = newest.timed - seen.timed;
    work_.timed += timed;
    own_ever_ns_ += static_cast<double>(timed) * own_ns_per_timed_;
    const double device_ns = static_cast<double>(newest.own_ticks - seen.own_ticks) * ns_per_tick_;
    const double host_ns = static_cast<double>(newest.host_ticks - seen.host_ticks) * ns_per_tick_;
    const double behind_ns =
        static_cast<double>(newest.own_events - seen.own_events) * static_cast<double>(event_takes_ns);
    const double wait_ns =
        is_open ? static_cast<double>(newest.wait_ticks - seen.wait_ticks) * ns_per_tick_ : 0;
    seen = newest;
    if (events == 0 && device_ns == 0 && host_ns == 0 && wait_ns == 0) return;
    Thread& thread = threads_[ring.number.load(std::memory_order_relaxed)];
    const auto add = [&](Amount& to) {
        to.events += events;
        to.device_ns += device_ns;
        to.host_ns += host_ns;
        to.behind_ns += behind_ns;
        to.wait_ns += wait_ns;
    };
    add(thread.second);
    add(thread.lately);
    add(thread.marked);
    if (is_open) add(thread.open);
    device_time_ns_ += rounded(device_ns);
    busiest_ns_ = std::max(busiest_ns_, rounded(thread.marked.slowed_ns()));
}

double OwnCost::paid_ns(const Amount& amount) const {
    return static_cast<double>(amount.events) * event_ns_ + amount.device_ns + amount.host_ns;
}

void OwnCost::add_row() {
    if (now_.mono_ns <= row_ns_) return;
    Amount all;
    double most_ns = 0;
    for (auto& [number, thread] : threads_) {
        all.events += thread.second.events;
        all.device_ns += thread.second.device_ns;
        all.host_ns += thread.second.host_ns;
        most_ns = std::max(most_ns, paid_ns(thread.second));
        thread.second = {};
    }
    const int64_t writer_ns = clock_ == kTestClock ? harvest_ns : clock_ns(CLOCK_THREAD_CPUTIME_ID);
    // Nothing is written, for hours: the newest row is of all the time since.
    row::cost sum = {0, 0, 0, 0, 0, 0, 0, 0, 0};
    if (rows_.count() >= kMostRows) {
        sum = rows_.at(rows_.count() - 1);
        rows_.erase_last();
    }
    sum.mono_ns = now_.mono_ns;
    sum.span_ns += now_.mono_ns - row_ns_;
    sum.events += static_cast<int64_t>(all.events);
    sum.hook_ns += rounded(static_cast<double>(all.events) * event_ns_);
    sum.device_time_ns += rounded(all.device_ns);
    sum.host_state_ns += rounded(all.host_ns);
    sum.busiest_ns += rounded(most_ns);
    sum.harvest_ns += harvest_ns - harvest_before_ns_;
    sum.writer_cpu_ns += writer_ns - writer_before_ns_;
    rows_.add(sum);
    harvest_before_ns_ = harvest_ns;
    writer_before_ns_ = writer_ns;
    row_ns_ = now_.mono_ns;
}

void OwnCost::mark() {
    marked_busiest_ns_ += std::exchange(busiest_ns_, 0);
    for (auto& [number, thread] : threads_) {
        thread.marked = {};
        if (thread.open.device_ns > 0 && thread.open.events != 0)
            thread.ns_per_event = thread.open.slowed_ns() / static_cast<double>(thread.open.events);
        thread.open = {};
    }
}

// Of threads that have not been seen in a window.
double OwnCost::usual_ns_per_event() const {
    double most_ns = 0;
    for (const auto& [number, thread] : threads_) most_ns = std::max(most_ns, thread.ns_per_event);
    return most_ns;
}

// Device times of an operation take us longer than its row: windows may take what that leaves of kOwnShare,
// or a part of what the rows take where these alone are more.
std::optional<ThreadLoad> OwnCost::take_own_load(double span_ns, double budget_share) {
    const Work work = work_;
    const int64_t now_ns = clock_ == kTestClock ? 0 : clock_ns(CLOCK_THREAD_CPUTIME_ID) + harvest_ns;
    work_ = {0, 0, now_ns};
    const double rows = static_cast<double>(work.events) + kTimedRows * static_cast<double>(work.timed);
    if (!std::exchange(has_begun_, true) || now_ns == 0 || rows < kTellingRows) return {};
    const double row_ns = static_cast<double>(now_ns - work.ns_before) / rows;
    const double always = row_ns * static_cast<double>(work.events) / span_ns;
    const double left = std::max(kOwnShare - always, kOwnPart * always);
    own_ns_per_timed_ = kTimedRows * row_ns * budget_share / left;
    return ThreadLoad{0, kTimedRows * always * budget_share / left};
}

// A thread's own pace is what it does in the time that our events leave it: so an open window, which slows it
// down, and a closed one say the same of it.
std::vector<ThreadLoad> OwnCost::take_loads(double budget_share) {
    const auto span_ns = static_cast<double>(std::max(kLeastSpanNs, now_.mono_ns - loads_ns_));
    loads_ns_ = now_.mono_ns;
    mark();
    const double usual_ns = usual_ns_per_event();
    std::vector<ThreadLoad> loads;
    for (auto& [number, thread] : threads_) {
        const double free_ns = std::max(1.0, span_ns - thread.lately.slowed_ns());
        const double each_ns = thread.ns_per_event >= 0 ? thread.ns_per_event : usual_ns;
        const double more = static_cast<double>(thread.lately.events) * each_ns / free_ns;
        const double always_ns =
            static_cast<double>(thread.lately.events) * event_ns_ + thread.lately.host_ns;
        loads.push_back({always_ns / span_ns, more / (1 + more)});
    }
    // Threads that did nothing may be over.
    std::erase_if(threads_, [](const auto& entry) {
        const Thread& thread = entry.second;
        return thread.lately.events == 0 && thread.second.events == 0 && thread.second.device_ns == 0;
    });
    for (auto& [number, thread] : threads_) thread.lately = {};
    if (const auto own = take_own_load(span_ns, budget_share)) loads.push_back(*own);
    return loads;
}

}  // namespace gpushim::shim
