#include "harvest.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../base/config.h"
#include "../base/log.h"
#include "../base/time_units.h"
#include "../calls/api.h"
#include "../calls/questions.h"
#include "../lifecycle.h"
#include "../ring/ticks.h"
#include "../schema/rows.h"
#include "../timing/captures.h"
#include "../timing/contexts.h"
#include "../timing/operation_events.h"
#include "../timing/stream_uses.h"
#include "../timing/withheld.h"
#include "../windows/own_cost.h"
#include "../windows/window_rows.h"
#include "context_harvest.h"
#include "device_rows.h"
#include "driver_thread.h"

namespace gpushim::shim {
namespace {

constexpr int64_t kSoonNs = kMillisecond;
constexpr int64_t kPassNs = 20 * kMillisecond;
constexpr int64_t kClockRowBusyNs = 1'000 * kMillisecond;
constexpr int64_t kClockRowIdleNs = 8'000 * kMillisecond;
// What was recorded may come that much later.
constexpr int64_t kStoredAfterNs = 300 * kMillisecond;
constexpr size_t kMostContexts = 64;
constexpr int64_t kCapturesNs = 1'000 * kMillisecond;
constexpr int64_t kLongCaptureNs = 60'000 * kMillisecond;
// How long the writer waits for the driver: not at all long, but at the end, and where time stands still.
constexpr Patience kPatience = {5 * kMillisecond, 5 * kMillisecond};
constexpr Patience kReadingPatience = {200 * kMillisecond, 200 * kMillisecond};
constexpr Patience kLastPatience = {200 * kMillisecond, 1'500 * kMillisecond};
constexpr Patience kSteppedPatience = {2'000 * kMillisecond, 60'000 * kMillisecond};
constexpr Patience kNoPatience = {0, 0};

// An invalid one stays until it is ended, but holds nothing any more: each call in it fails.
bool is_no_capture(uint64_t stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return driver_calls()->cuStreamIsCapturing(reinterpret_cast<CUstream>(stream), &status) == CUDA_SUCCESS &&
           status != CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

class Harvest : public Observer {
  public:
    explicit Harvest(std::span<const Device> devices)
        : only_device_(devices.size() == 1 ? devices.front().ordinal : kNull) {
        for (const Device& device : devices)
            gaps_[device.ordinal] = stamp_gaps_of(device.name, config.stamp_gaps);
        std::ranges::copy(times_.tables(), std::back_inserter(all_rows_));
        all_rows_.insert(all_rows_.end(), {&clock_, &refusal_, &windows_.rows});
    }

    int64_t look(const Moment& now) override;
    std::span<Rows* const> rows() override { return all_rows_; }
    void stored(std::span<const Event> events, std::span<const TimedOperation> timed) override;

  private:
    enum class Failure : uint8_t { none, of_one, of_all };
    struct Refusal {
        int64_t context;
        const char* call;
        int64_t error;
        const char* why;
        bool is_complaint = true;
    };
    struct Context {
        std::unique_ptr<ContextHarvest> harvest;
        int64_t clock_row_ns = INT64_MIN / 2;
        bool is_over = false;  // nothing more is read there
        Failure said = Failure::none;
    };
    // On the driver's thread.
    void drive();
    void find_contexts();
    void say_what_is_withheld();
    void look_at_captures();
    void say_old_capture();
    void refused(const Refusal& refusal);
    void visit(Context& context);
    // The writer's, while the driver's thread is idle.
    int64_t collect();
    void give_up();
    void close(Context& context);
    void say_refusals();
    void say_failure(Context& context);
    void take_rows(Context& context);
    void add_row(const OperationRow& row, int64_t device);
    void add_clock_row(Context& context);
    void look_at_windows(const Moment& now);
    int64_t device_of(uint32_t context) const;
    StampGaps gaps_on(int64_t device) const {
        const auto found = gaps_.find(device);
        return found != gaps_.end() ? found->second : stamp_gaps_of("", config.stamp_gaps);
    }

    const int64_t only_device_;
    std::map<int64_t, StampGaps> gaps_;    // by device
    Moment now_ = {};                      // of the look that the driver's thread works for
    int64_t took_ns_ = 0;                  // … and how long it did
    bool is_driven_ = false;               // its work is not collected
    bool has_mode_ = false;                // of captures
    int64_t captures_ns_ = INT64_MIN / 2;  // when those under way were looked at
    std::map<uint32_t, Context> contexts_;
    std::map<uint32_t, int64_t> devices_;  // of contexts
    std::vector<Refusal> refusals_;        // the driver's thread adds; what is said stays
    size_t said_ = 0;
    std::vector<TimedOperation> timed_;  // not yet given to their contexts
    int64_t unknown_ns_ = INT64_MAX;     // from then on there are operations whose times may still come
    DeviceRows times_{"events"};
    WindowRows windows_;
    RowsOf<row::device_clock> clock_;
    RowsOf<row::refusal> refusal_;
    std::vector<Rows*> all_rows_;
};

int64_t Harvest::look(const Moment& now) {
    int64_t next_ns = kSoonNs;
    // A driver that makes us wait: the next look sees.
    if (wait_for_driver_thread(kNoPatience) || wait_for_driver_thread(patience_with_driver(now))) {
        if (is_driven_) next_ns = collect();
        if (driver_usable()) {
            for (const TimedOperation& operation : timed_) {
                const auto found = contexts_.find(operation.context);
                if (found != contexts_.end()) found->second.harvest->add(operation);
            }
            timed_.clear();
            now_ = now;
            is_driven_ =
                give_to_driver_thread([](void* self) { static_cast<Harvest*>(self)->drive(); }, this);
            if (is_driven_ && wait_for_driver_thread(patience_with_driver(now))) next_ns = collect();
        } else {
            give_up();
        }
    }
    look_at_windows(now);
    return captures_active() ? std::min(next_ns, kCapturesNs) : next_ns;
}

void Harvest::drive() {
    const int64_t begun_ns = trace_now_ns();
    if (driver_usable()) find_contexts();
    say_what_is_withheld();
    for (auto& [number, context] : contexts_)
        if (!context.is_over && driver_usable()) visit(context);
    if (captures_active() && driver_usable()) look_at_captures();
    took_ns_ = trace_now_ns() - begun_ns;
}

void Harvest::say_what_is_withheld() {
    for (const Withheld& one : all_withheld())
        if (one.is_so()) refused({kNull, one.call, kNull, one.why, false});
    const bool is_guessed = std::ranges::any_of(
        contexts_, [](const auto& context) { return !context.second.harvest->is_calibrated(); });
    if (is_guessed)
        refused({kNull, "", kNull,
                 "bounds of device times are estimates: this kind of device was never calibrated", false});
}

// What a program left open, or something made invalid, is not under way for ever: while a capture is, each
// stream is asked before it gets an event, and more events are recorded than are needed.
void Harvest::look_at_captures() {
    if (now_.mono_ns - captures_ns_ < kCapturesNs) return;
    captures_ns_ = now_.mono_ns;
    const DriverCalls* calls = driver_calls();
    for (auto& [number, context] : contexts_) {
        if (context.is_over || !enter_context(number)) continue;
        CUcontext popped = nullptr;
        if (calls->cuCtxPushCurrent_v2(context.harvest->pool().context()) == CUDA_SUCCESS) {
            visit_captures(number, is_no_capture);
            calls->cuCtxPopCurrent_v2(&popped);
        }
        leave_context();
    }
    say_old_capture();
}

void Harvest::say_old_capture() {
    int64_t began_ns = 0;
    uint32_t context = kNoContext;
    if (!oldest_capture(began_ns, context) || now_.mono_ns - began_ns < kLongCaptureNs) return;
    refused({context != kNoContext ? int64_t{context} : kNull, "cuStreamBeginCapture", kNull,
             "a capture has not ended for 60 s: until it ends, operations take more events, and new streams "
             "are not timed",
             false});
}

// Those that were some thread's current one: they get their events before their first operation, if it can
// be.
void Harvest::find_contexts() {
    NumberedContext found[kMostContexts];
    const size_t count = numbered_contexts(found, kMostContexts);
    if (count == 0) return;
    const DriverCalls* calls = driver_calls();
    if (calls == nullptr)
        return refused({kNull, missing_driver_call(), kNull, "the driver lacks it: host times only"});
    if (!has_mode_) {
        // What we do is no business of the program's captures.
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        const CUresult result = calls->cuThreadExchangeStreamCaptureMode(&mode);
        has_mode_ = result == CUDA_SUCCESS;
        if (result == CUDA_ERROR_DEINITIALIZED) return;  // the driver has gone with the process: no failure
        if (!has_mode_)
            return refused({kNull, "cuThreadExchangeStreamCaptureMode", result,
                            "our call failed: host times only, until it succeeds"});
        if (driver_version() != 0 && driver_version() < kOldestKnown)
            refused({kNull, "cuDriverGetVersion", kNull,
                     "the driver is older than 11.4, the oldest that gpushim was tested with", false});
        if (driver_version() > kNewestKnown) {
            ask_before_records();
            refused({kNull, "cuDriverGetVersion", kNull,
                     "the driver is newer than gpushim knows: calls may go unseen", false});
        }
    }
    for (size_t i = 0; i < count; ++i) {
        if (contexts_.contains(found[i].number)) continue;
        EventPool* pool = make_pool(found[i].number, reinterpret_cast<CUcontext>(found[i].handle));
        if (pool == nullptr) {
            refused({found[i].number, "", kNull,
                     "no memory for events, or too many contexts: host times only", false});
            continue;
        }
        contexts_[found[i].number].harvest = std::make_unique<ContextHarvest>(
            found[i].number, *pool, *calls, [this](int64_t device) { return gaps_on(device); });
    }
}

// Once of each call: it may be tried again and again. What is of no call: once.
void Harvest::refused(const Refusal& refusal) {
    const bool is_said = std::ranges::any_of(refusals_, [&](const Refusal& said) {
        return said.call == std::string_view(refusal.call) &&
               (*refusal.call != '\0' || said.why == std::string_view(refusal.why));
    });
    if (!is_said) refusals_.push_back(refusal);
}

void Harvest::say_refusals() {
    for (; said_ < refusals_.size(); ++said_) {
        const Refusal& one = refusals_[said_];
        log_line(one.is_complaint ? LogLevel::warn : LogLevel::info, "%s%s%s", one.call,
                 *one.call != '\0' ? ": " : "", one.why);
        refusal_.add({.mono_ns = now_.mono_ns,
                      .context_id = one.context,
                      .api = refusal_.text(one.call),
                      .error = one.error,
                      .why = refusal_.text(one.why)});
    }
}

void Harvest::visit(Context& context) {
    ContextHarvest& harvest = *context.harvest;
    if (!enter_context(harvest.number())) {
        harvest.pool().retire();
        context.is_over = true;
        return;
    }
    context.is_over = !harvest.visit(now_);
    leave_context();
}

int64_t Harvest::collect() {
    is_driven_ = false;
    add_harvest_ns(took_ns_);
    bool is_behind = false, has_work = false;
    unknown_ns_ = INT64_MAX;
    int64_t event_ns = 0;  // of those that live, the most
    say_refusals();
    for (auto& [number, context] : contexts_) {
        const ContextHarvest& harvest = *context.harvest;
        say_failure(context);
        if (harvest.device() != kNull) {
            devices_[number] = harvest.device();
            windows_.device(harvest.device());
        }
        if (context.is_over) {
            close(context);
            continue;
        }
        if (harvest.has_clock()) event_ns = std::max(event_ns, harvest.anchors().event_facts().ns);
        take_rows(context);
        add_clock_row(context);
        is_behind = is_behind || harvest.is_behind();
        has_work = has_work || harvest.has_work();
        unknown_ns_ = std::min(unknown_ns_, harvest.oldest_ns());
    }
    say_event_takes(event_ns);
    if (is_behind) return kSoonNs;
    return has_work ? kPassNs : INT64_MAX;
}

void Harvest::give_up() {
    for (auto& [number, context] : contexts_) {
        context.harvest->give_up();
        take_rows(context);
    }
    unknown_ns_ = INT64_MAX;
}

// What is read by now keeps its times; the rest is of the host's level.
void Harvest::close(Context& context) {
    ContextHarvest& harvest = *context.harvest;
    harvest.give_up();
    take_rows(context);
}

// Twice at most: an operation that has no device times, and that there are none any more.
void Harvest::say_failure(Context& context) {
    const EventPool& pool = context.harvest->pool();
    if (pool.error() == CUDA_SUCCESS) return;
    const Failure failure = pool.has_ended() ? Failure::of_all : Failure::of_one;
    if (std::exchange(context.said, failure) == failure) return;
    const uint32_t number = context.harvest->number();
    log_line(LogLevel::warn, "%s returned %d: no %sdevice times in context %u", pool.failed_call(),
             static_cast<int>(pool.error()), failure == Failure::of_all ? "more " : "", number);
    refusal_.add({.mono_ns = now_.mono_ns,
                  .context_id = number,
                  .api = refusal_.text(pool.failed_call()),
                  .error = static_cast<int64_t>(pool.error()),
                  .why = refusal_.text(failure == Failure::of_all
                                           ? "our call failed: host times only, in that context from then on"
                                           : "our call failed: one operation has host times only")});
}

void Harvest::take_rows(Context& context) {
    const int64_t device = device_of(context.harvest->number());
    for (const OperationRow& row : context.harvest->take_rows()) add_row(row, device);
}

void Harvest::add_row(const OperationRow& row, int64_t device) {
    times_.add(row.operation, row.times, row.operation.start != kNoEvent ? 2 : 1);
    windows_.timed(device, row.operation.enter_ns);
}

void Harvest::add_clock_row(Context& context) {
    const ContextHarvest& harvest = *context.harvest;
    if (!harvest.has_clock()) return;
    const int64_t newest_ns = harvest.anchors().newest_ns();
    const int64_t every_ns = harvest.has_work() ? kClockRowBusyNs : kClockRowIdleNs;
    const int64_t since_ns = newest_ns - context.clock_row_ns;
    if (since_ns < every_ns && !(now_.ending && since_ns > 0)) return;
    context.clock_row_ns = newest_ns;
    clock_.add(harvest.clock_row());
}

int64_t Harvest::device_of(uint32_t context) const {
    const auto found = devices_.find(context);
    return found != devices_.end() ? found->second : only_device_;
}

void Harvest::look_at_windows(const Moment& now) {
    for (Window window; next_closed_window(window);) windows_.add(window);
    int64_t unknown_ns = unknown_ns_;
    for (const TimedOperation& operation : timed_) unknown_ns = std::min(unknown_ns, operation.enter_ns);
    const int64_t unstored_ns = now.mono_ns - kStoredAfterNs;
    windows_.finish(now.mono_ns, unknown_ns, unstored_ns, now.ending && !driver_usable());
    if (!windows_.has_open() && process_state->timing.load() == 0) windows_.forget_before(unstored_ns);
}

void Harvest::stored(std::span<const Event> events, std::span<const TimedOperation> timed) {
    // Of a timed one its stream's context is known; of others the thread's current one is taken for it.
    std::unordered_map<int64_t, uint32_t> of_streams;
    if (contexts_.size() > 1)
        for (const TimedOperation& operation : timed) of_streams[operation.enter_ns] = operation.context;
    for (const Event& event : events) {
        if (!runs_on_device(event)) continue;
        const auto known = of_streams.find(event.enter_ns);
        const int64_t device = device_of(known != of_streams.end() ? known->second : event.slot.context);
        if (device != kNull) windows_.given(device, event.enter_ns);
    }
    timed_.insert(timed_.end(), timed.begin(), timed.end());
}

}  // namespace

Patience patience_with_driver(const Moment& now) {
    if (process_state->clock_kind == kTestClock) return kSteppedPatience;
    return now.ending ? kLastPatience : now.reading ? kReadingPatience : kPatience;
}

std::unique_ptr<Observer> make_event_harvest(std::span<const Device> devices) {
    return std::make_unique<Harvest>(devices);
}

}  // namespace gpushim::shim
