#include "cupti_harvest.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "../base/log.h"
#include "../base/time_units.h"
#include "../lifecycle.h"
#include "../schema/rows.h"
#include "../timing/context_visits.h"
#include "../timing/contexts.h"
#include "../timing/cupti_callbacks.h"
#include "../timing/operation_events.h"
#include "../windows/own_cost.h"
#include "../windows/window_rows.h"
#include "clock_probe.h"
#include "cupti_session.h"
#include "device_rows.h"
#include "driver_thread.h"
#include "harvest.h"
#include "record_join.h"

namespace gpushim::shim {
namespace {

constexpr int64_t kJoinPassNs = 100 * kMillisecond;
constexpr int64_t kShortestPassNs = 50 * kMillisecond;
constexpr int64_t kSourceRowNs = 1'000 * kMillisecond;
// What was recorded may come that much later.
constexpr int64_t kJoinedAfterNs = 300 * kMillisecond;
constexpr size_t kMostCuptiContexts = 64;
constexpr size_t kMostNodes = 1 << 16;  // whose names are told
constexpr size_t kMostGiven = 1 << 16;  // of contexts whose device nobody knows
constexpr int64_t kBuffersPerSecond = 4;
constexpr int64_t kFewestRecords = 16;
// One of so many may be of another clock, which is judged from as many on.
constexpr int64_t kRecordsForOneDisplaced = 100;
// How far a record may be off. Taken for it, not measured: NVIDIA publishes no figure. Where a record says
// that an operation began before it was asked for, it is off by at least that much.
constexpr int64_t kErrorNs = 1'000;

class CuptiHarvest : public Observer {
  public:
    explicit CuptiHarvest(std::span<const Device> devices) : shown_(devices) {
        std::ranges::copy(times_.tables(), std::back_inserter(all_rows_));
        all_rows_.insert(all_rows_.end(), {&node_, &node_device_, &source_, &windows_.rows});
    }

    int64_t look(const Moment& now) override;
    std::span<Rows* const> rows() override;
    void stored(std::span<const Event> events, std::span<const TimedOperation> timed) override;

  private:
    // ended: it was open, and is not believed any more.
    enum class State { opening, open, ended, refused };

    // On the driver's thread.
    void drive();
    void find_devices();
    // The writer's, while the driver's thread is idle.
    bool is_due(const Moment& now);
    void collect(const Moment& now);
    void begin(const Moment& now);
    void adapt_buffers(const Moment& now);
    void take_joined(const Moment& now);
    void look_for_another_clock();
    void add(const JoinedOperation& joined);
    void add_nodes(const JoinedOperation& joined, int64_t shift_ns);
    void add_source_row(const Moment& now);
    void look_at_windows(const Moment& now);
    void count_given();
    int64_t device_of(uint32_t context) const;

    const std::span<const Device> shown_;
    State state_ = State::opening;
    CuptiSession session_;
    std::unique_ptr<Observer> events_;  // instead
    bool is_driven_ = false;            // the driver thread's work is not collected
    bool is_last_ = false;              // … and it was the last
    bool has_opened_ = false;
    int64_t driven_ns_ = INT64_MIN / 2;
    int64_t took_ns_ = 0;
    std::map<uint32_t, int64_t> found_;    // the driver thread's
    std::map<uint32_t, int64_t> devices_;  // of contexts
    struct Given {
        uint32_t context;
        int64_t enter_ns;
    };
    std::vector<Given> given_;  // operations whose device is not known yet
    std::vector<DeviceRecord> records_;
    std::string refused_;  // why it is not used, or not any more
    RecordJoin join_;
    int64_t count_ = 0;  // of records, ever
    int64_t counted_ = 0, counted_ns_ = 0;
    int64_t source_row_ns_ = 0;  // not before
    int64_t source_wait_ns_ = kSourceRowNs;
    std::unordered_set<uint64_t> named_;  // nodes
    DeviceRows times_{"cupti"};
    WindowRows windows_;
    RowsOf<row::graph_node> node_;
    RowsOf<row::graph_node_device> node_device_;
    RowsOf<row::device_source> source_;
    std::vector<Rows*> all_rows_;
};

// --- on the driver's thread --------------------------------------------------------------------------------

void CuptiHarvest::drive() {
    const int64_t begun_ns = trace_now_ns();
    if (!std::exchange(has_opened_, true) && !session_.open()) return;
    if (!driver_usable()) return;
    find_devices();
    session_.read(records_, is_last_);
    took_ns_ = trace_now_ns() - begun_ns;
}

void CuptiHarvest::find_devices() {
    NumberedContext found[kMostCuptiContexts];
    const size_t count = std::min(numbered_contexts(found, kMostCuptiContexts), kMostCuptiContexts);
    const DriverCalls* calls = driver_calls();
    for (size_t i = 0; calls != nullptr && i < count; ++i) {
        if (found_.contains(found[i].number) || !enter_context(found[i].number)) continue;
        CUdevice device = 0;
        CUcontext popped = nullptr;
        if (calls->cuCtxPushCurrent_v2(reinterpret_cast<CUcontext>(found[i].handle)) == CUDA_SUCCESS) {
            if (calls->cuCtxGetDevice(&device) == CUDA_SUCCESS) found_[found[i].number] = device;
            calls->cuCtxPopCurrent_v2(&popped);
        }
        leave_context();
    }
}

// --- the writer's ------------------------------------------------------------------------------------------

int64_t CuptiHarvest::look(const Moment& now) {
    if (events_ != nullptr) return events_->look(now);
    if (wait_for_driver_thread({0, 0}) || wait_for_driver_thread(patience_with_driver(now))) {
        if (is_driven_) collect(now);
        if (state_ == State::refused) return events_->look(now);
        is_driven_ =
            is_due(now) && driver_usable() &&
            give_to_driver_thread([](void* self) { static_cast<CuptiHarvest*>(self)->drive(); }, this);
        if (is_driven_ && wait_for_driver_thread(patience_with_driver(now))) collect(now);
        if (state_ == State::refused) return events_->look(now);
    }
    look_at_windows(now);
    return state_ == State::opening || join_.is_waiting() ? kJoinPassNs : INT64_MAX;
}

// Asking CUPTI for what is over holds up its own thread, and the program's that are in it.
bool CuptiHarvest::is_due(const Moment& now) {
    is_last_ = now.ending;
    if (!now.ending && !now.reading && now.mono_ns - driven_ns_ < kShortestPassNs) return false;
    driven_ns_ = now.mono_ns;
    return true;
}

void CuptiHarvest::collect(const Moment& now) {
    is_driven_ = false;
    add_harvest_ns(std::exchange(took_ns_, 0));
    if (state_ == State::opening) begin(now);
    if (state_ == State::refused) return;
    devices_ = found_;
    for (const auto& [context, device] : devices_) windows_.device(device);
    count_given();
    count_ += static_cast<int64_t>(records_.size());
    // Also when they are not believed: nothing else empties CUPTI's buffers.
    for (const DeviceRecord& record : std::exchange(records_, {})) join_.add(record, now.mono_ns);
    adapt_buffers(now);
    look_for_another_clock();
    take_joined(now);
    add_source_row(now);
}

// A process's tools share CUPTI's clock, and whoever registers one last gives the time. Records that are near
// enough to be taken for ours can be of it as well, so none is believed from then on.
void CuptiHarvest::look_for_another_clock() {
    const auto displaced = static_cast<int64_t>(join_.displaced());
    if (state_ != State::open || count_ < kRecordsForOneDisplaced ||
        displaced * kRecordsForOneDisplaced <= count_)
        return;
    state_ = State::ended;
    refused_ = "its records are of another clock, as when another tool has registered one";
    source_row_ns_ = 0;
    log_line(LogLevel::warn, "GPUSHIM_DEVICE_TIME=cupti: %s; no device times from now on", refused_.c_str());
}

void CuptiHarvest::begin(const Moment& now) {
    refused_ = session_.refused();
    const bool is_open = refused_.empty();
    state_ = is_open ? State::open : State::refused;
    if (is_open) {
        time_by_records();
        counted_ns_ = now.mono_ns;
        log_line(LogLevel::info, "device times by CUPTI %u (%s)", session_.library().version,
                 session_.library().path.c_str());
        return;
    }
    log_line(LogLevel::warn, "GPUSHIM_DEVICE_TIME=cupti: %s%s%s; events instead", refused_.c_str(),
             session_.error() != kNull ? ", error " : "",
             session_.error() != kNull ? std::to_string(session_.error()).c_str() : "");
    add_source_row(now);
    events_ = make_event_harvest(shown_);
}

// So that what is in a buffer is not much older than the windows it is of.
void CuptiHarvest::adapt_buffers(const Moment& now) {
    const int64_t passed_ns = now.mono_ns - counted_ns_;
    if (passed_ns < 1'000 * kMillisecond) return;
    const int64_t per_second = (count_ - counted_) * 1'000 * kMillisecond / passed_ns;
    limit_records(static_cast<size_t>(std::max(kFewestRecords, per_second / kBuffersPerSecond)));
    counted_ = count_;
    counted_ns_ = now.mono_ns;
}

void CuptiHarvest::take_joined(const Moment& now) {
    for (const JoinedOperation& joined : join_.take(now.mono_ns, now.ending, session_.dropped() != 0))
        if (state_ == State::open) add(joined);
}

void CuptiHarvest::add(const JoinedOperation& joined) {
    const TimedOperation& operation = joined.operation;
    // Nothing runs before it was asked for: there its clock and ours differ, and its length is right.
    const int64_t shift_ns = std::max<int64_t>(0, operation.enter_ns - joined.start_ns);
    const int64_t error_ns = std::max(kErrorNs, shift_ns) + session_.clock_error_ns();
    OperationTimes times = {};
    times.start_ns = joined.start_ns + shift_ns;
    times.end_ns = joined.end_ns + shift_ns;
    times.queued = true;
    times.start_low_ns = std::max(operation.enter_ns, times.start_ns - error_ns);
    times.start_high_ns = times.start_ns + error_ns;
    times.end_low_ns = std::max(times.start_low_ns, times.end_ns - error_ns);
    times.end_high_ns = times.end_ns + error_ns;
    times.likely_ns = error_ns;
    times_.add(operation, times, 0);
    windows_.timed(joined.device, operation.enter_ns);
    add_nodes(joined, shift_ns);
}

void CuptiHarvest::add_nodes(const JoinedOperation& joined, int64_t shift_ns) {
    for (const DeviceRecord& record : joined.nodes) {
        if (record.node == 0) continue;
        node_device_.add({.enter_ns = joined.operation.enter_ns,
                          .node = static_cast<int64_t>(record.node),
                          .start_offset_ns = record.start_ns + shift_ns - joined.operation.enter_ns,
                          .dur_ns = record.end_ns - record.start_ns});
        if (named_.size() >= kMostNodes || !named_.insert(record.node).second) continue;
        node_.add({.node = static_cast<int64_t>(record.node),
                   .kind = static_cast<int64_t>(kind_of_node(record)),
                   .name = record.name != nullptr ? node_.text(record.name) : kNull});
    }
}

void CuptiHarvest::add_source_row(const Moment& now) {
    if (!now.ending && now.mono_ns < source_row_ns_) return;
    // Ever more rarely: a week has twenty rows.
    source_wait_ns_ *= 2;
    source_row_ns_ = now.mono_ns + source_wait_ns_;
    const CuptiLibrary& library = session_.library();
    const bool is_open = session_.refused().empty();
    const auto known = [&](int64_t number) { return is_open ? number : kNull; };
    source_.add({.mono_ns = now.mono_ns,
                 .source = source_.text("cupti"),
                 .library = library.path.empty() ? kNull : source_.text(library.path),
                 .version = library.version != 0 ? int64_t{library.version} : kNull,
                 .refused = refused_.empty() ? kNull : source_.text(refused_),
                 .error = session_.error(),
                 .records = known(count_),
                 .unclaimed = known(static_cast<int64_t>(join_.unclaimed())),
                 .dropped = known(static_cast<int64_t>(session_.dropped())),
                 .clock_error_ns = known(session_.clock_error_ns()),
                 .displaced = known(static_cast<int64_t>(join_.displaced()))});
}

// A context's device is asked for on the driver's thread: what it is given meanwhile waits.
void CuptiHarvest::count_given() {
    std::erase_if(given_, [&](const Given& given) {
        const int64_t device = device_of(given.context);
        if (device != kNull) windows_.given(device, given.enter_ns);
        return device != kNull;
    });
}

int64_t CuptiHarvest::device_of(uint32_t context) const {
    const auto found = devices_.find(context);
    if (found != devices_.end()) return found->second;
    return shown_.size() == 1 ? shown_.front().ordinal : kNull;
}

void CuptiHarvest::look_at_windows(const Moment& now) {
    for (Window window; next_closed_window(window);) windows_.add(window);
    const int64_t unstored_ns = now.mono_ns - kJoinedAfterNs;
    windows_.finish(now.mono_ns, join_.oldest_ns(), unstored_ns, now.ending && !driver_usable());
    if (!windows_.has_open() && process_state->timing.load() == 0) windows_.forget_before(unstored_ns);
}

std::span<Rows* const> CuptiHarvest::rows() {
    if (events_ == nullptr) return all_rows_;
    // One list: the source's row is ours.
    all_rows_.assign(events_->rows().begin(), events_->rows().end());
    all_rows_.push_back(&source_);
    return all_rows_;
}

void CuptiHarvest::stored(std::span<const Event> events, std::span<const TimedOperation> timed) {
    if (events_ != nullptr) return events_->stored(events, timed);
    for (const Event& event : events)
        if (runs_on_device(event) && given_.size() < kMostGiven)
            given_.push_back({event.slot.context, event.enter_ns});
    count_given();
    const int64_t now_ns = trace_now_ns();
    for (const TimedOperation& operation : timed) join_.add(operation, now_ns);
}

}  // namespace

std::unique_ptr<Observer> make_cupti_harvest(std::span<const Device> devices) {
    return std::make_unique<CuptiHarvest>(devices);
}

}  // namespace gpushim::shim
