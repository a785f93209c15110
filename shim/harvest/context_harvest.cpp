#include "context_harvest.h"

#include <algorithm>

#include "../base/time_units.h"
#include "../timing/hardware_queues.h"
#include "../timing/operation_events.h"

namespace gpushim::shim {
namespace {

// … at a visit, until there are so many; then as many again on misses
constexpr uint32_t kFirstEvents = 2048;
constexpr uint32_t kUsualEvents = 8192;
constexpr uint32_t kInARow = 128;  // calls of ours, then the driver's lock is the program's for a moment
constexpr int64_t kVisitNs = 5 * kMillisecond;
constexpr int64_t kLastVisitsNs = 150 * kMillisecond;  // all together: the process waits
constexpr int64_t kEndedVisitsNs = 50 * kMillisecond;
constexpr int64_t kAnchorBusyNs = 20 * kMillisecond;
constexpr int64_t kOldAnchorNs = 5'000 * kMillisecond;
constexpr int64_t kHoldNs = 2'000 * kMillisecond;  // for what is still to be learnt about empty queues
constexpr size_t kMostHeld = 30'000;
constexpr size_t kMostStamped = 65'536;  // where no anchor can be had, the oldest keep the host's times
constexpr size_t kMostStreams = 1024;    // remembered without work
// Wishes for a queue before an operation: they cost the program's thread some records.
constexpr uint32_t kEventsBefore = 16;
constexpr int kMostWishes = 16;
constexpr int64_t kWishesPerNs = 10'000 * kMillisecond;
constexpr int64_t kWishEveryNs = 10 * kMillisecond;
constexpr int64_t kSureNs = 500;

// Here: what is not read now never is.
bool is_last(const Moment& now) { return now.ending || now.reading; }

}  // namespace

void ContextHarvest::add(const TimedOperation& operation) {
    if (operation.enter_ns == kNull || pool_.is_retired()) {
        pool_.give(operation.start);
        pool_.give(operation.end);
        return;
    }
    auto& pending = streams_[operation.stream_id].pending;
    auto place = pending.end();
    while (place != pending.begin() && (place - 1)->enter_ns > operation.enter_ns) --place;
    pending.insert(place, operation);
    ++pending_;
}

CUresult ContextHarvest::failed(const char* call, CUresult result) {
    failed_call_ = call;
    return result;
}

bool ContextHarvest::visit(const Moment& now) {
    CUresult result = calls_.cuCtxPushCurrent_v2(pool_.context());
    if (result != CUDA_SUCCESS) {
        pool_.failed("cuCtxPushCurrent", result);
        return !pool_.is_retired();
    }
    result = pool_.is_retired() ? CUDA_SUCCESS : work(now);
    CUcontext popped = nullptr;
    const CUresult left = calls_.cuCtxPopCurrent_v2(&popped);
    // With each visit one more would stay there.
    if (left != CUDA_SUCCESS && (result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY))
        result = failed("cuCtxPopCurrent", left);
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY) pool_.failed(failed_call_, result);
    return !pool_.is_retired();
}

CUresult ContextHarvest::work(const Moment& now) {
    CUresult result = CUDA_SUCCESS;
    if (device_ == kNull) {
        CUdevice device = 0;
        result = calls_.cuCtxGetDevice(&device);
        if (result != CUDA_SUCCESS) return failed("cuCtxGetDevice", result);
        device_ = device;
        gaps_ = gaps_of_(device_);
    }
    if (!is_last(now)) result = fill_pool();
    if (result == CUDA_SUCCESS && !anchors_.is_open()) {
        result = anchors_.open(calls_);
        if (result != CUDA_SUCCESS) return failed(anchors_.failed_call(), result);
    }
    const int64_t until_ns = is_last(now) ? now.mono_ns + (now.ending ? kLastVisitsNs : kEndedVisitsNs)
                                          : trace_now_ns() + kVisitNs;
    is_behind_ = false;
    is_waited_for_ = is_last(now);
    // Read from an anchor of long ago, stamps would be rounded by much: the second one is near them.
    if (result == CUDA_SUCCESS && pending_ != 0 && now.mono_ns - anchors_.newest_ns() > kOldAnchorNs)
        for (int i = 0; i < 2 && result == CUDA_SUCCESS; ++i) result = take_anchor();
    for (auto& [id, stream] : streams_)
        if (result == CUDA_SUCCESS && !stream.pending.empty()) result = harvest_or_drop(stream, until_ns);
    // What was not read may be over.
    if (result == CUDA_SUCCESS && !is_behind_) watch(trace_now_ns());
    if (streams_.size() > kMostStreams)
        std::erase_if(streams_, [](const auto& stream) { return stream.second.pending.empty(); });
    if (result == CUDA_SUCCESS) result = anchor(now);
    if (result != CUDA_SUCCESS) return result;
    // Until then most of what its clock does would have to be taken for possible.
    if (anchors_.clock().is_settled() || is_last(now)) map_stamps();
    settle(now);
    wish(now);
    return CUDA_SUCCESS;
}

// While nobody waits: taking one never makes one.
CUresult ContextHarvest::fill_pool() {
    const uint32_t misses = pool_.misses();
    const uint32_t made = pool_.made();
    is_filling_ = made + kFirstEvents < kUsualEvents;
    if (made >= kUsualEvents && misses == misses_) return CUDA_SUCCESS;
    misses_ = misses;
    const uint32_t wanted = made < kUsualEvents ? kFirstEvents : made;
    for (uint32_t i = 0; i < wanted && pool_.made() < kMostEventsOfOurs; ++i) {
        if (i != 0 && i % kInARow == 0) let_program_in();
        CUevent event = nullptr;
        const CUresult result = calls_.cuEventCreate(&event, CU_EVENT_DEFAULT);
        if (result != CUDA_SUCCESS) return failed("cuEventCreate", result);
        pool_.add(event);
    }
    return CUDA_SUCCESS;
}

CUresult ContextHarvest::anchor(const Moment& now) {
    // Nothing was timed since: a device that sleeps is not woken. What a window holds may not be stored yet.
    const uint64_t turns = pool_.turns();
    const bool is_busy = has_work() || turns != turns_;
    if (!is_busy || (!is_last(now) && now.mono_ns - anchors_.newest_ns() < kAnchorBusyNs))
        return CUDA_SUCCESS;
    const int64_t newest_ns = anchors_.newest_ns();
    const CUresult result = take_anchor();
    if (anchors_.newest_ns() != newest_ns) turns_ = turns;
    return result;
}

CUresult ContextHarvest::take_anchor() {
    const CUresult result = anchors_.take();
    return result == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : failed(anchors_.failed_call(), result);
}

CUresult ContextHarvest::query(const Stream& stream, size_t index) {
    asked_ = index;
    return failed("cuEventQuery", calls_.cuEventQuery(pool_.handle(stream.pending[index].end)));
}

// An operation whose events are no events any more keeps the host's times, and nobody gets those again.
CUresult ContextHarvest::harvest_or_drop(Stream& stream, int64_t until_ns) {
    const CUresult result = harvest(stream, until_ns);
    if (result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY) return result;
    if (!pool_.failed(failed_call_, result)) return result;
    stream.pending.erase(stream.pending.begin() + static_cast<std::ptrdiff_t>(asked_));
    stream.has_end = false;
    --pending_;
    return CUDA_SUCCESS;
}

// What is done in a stream is done in order: the newest first, then by halves.
CUresult ContextHarvest::count_done(const Stream& stream, size_t& done) {
    const auto& pending = stream.pending;
    done = 0;
    size_t first_not = pending.size();
    CUresult result = query(stream, pending.size() - 1);
    if (result == CUDA_SUCCESS) done = first_not;
    if (result == CUDA_ERROR_NOT_READY) --first_not;
    while (done < first_not && (result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY)) {
        const size_t middle = done + (first_not - done) / 2;
        result = query(stream, middle);
        result == CUDA_SUCCESS ? done = middle + 1 : first_not = middle;
    }
    return result == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : result;
}

// Where every stream has a queue of its own, an event holds up nothing: there a stream may wait for as long
// as another rank saves its checkpoint.
void ContextHarvest::watch(int64_t now_ns) {
    if (seen_sharing() == Sharing::none_seen || are_events_stopped()) return;
    for (const auto& [id, stream] : streams_)
        if (!stream.pending.empty() && now_ns - stream.pending.front().recorded_ns > kLongestWaitNs)
            stop_events();
}

CUresult ContextHarvest::harvest(Stream& stream, int64_t until_ns) {
    size_t done = 0;
    CUresult result = count_done(stream, done);
    for (; result == CUDA_SUCCESS && done > 0; --done) {
        result = read(stream, stream.pending.front());
        if (result != CUDA_SUCCESS) break;
        stream.pending.pop_front();
        --pending_;
        if (!is_waited_for_ && done % kInARow == 0) let_program_in();
        if (done % 64 != 0 || trace_now_ns() < until_ns) continue;
        is_behind_ = true;
        break;
    }
    return result;
}

CUresult ContextHarvest::read(Stream& stream, const TimedOperation& operation) {
    asked_ = 0;
    Stamped stamped = {};
    stamped.operation = operation;
    stamped.has_start = operation.start != kNoEvent;
    CUresult result = anchors_.read(pool_.handle(operation.end), stamped.end_ns);
    if (result == CUDA_SUCCESS && stamped.has_start)
        result = anchors_.read(pool_.handle(operation.start), stamped.start_ns);
    if (result != CUDA_SUCCESS) return failed(anchors_.failed_call(), result);
    pool_.give(operation.start);
    pool_.give(operation.end);
    // Two calls at the same time: which of them came first in the stream is not known.
    stamped.has_before = stream.has_end && stream.exit_ns <= operation.enter_ns;
    stamped.before_ns = stream.end_ns;
    const int64_t rounding_ns = std::max(anchors_.rounding_ns(stamped.end_ns),
                                         stamped.has_start ? anchors_.rounding_ns(stamped.start_ns) : 0);
    stamped.rounding_ns = std::max(rounding_ns, stream.rounding_ns);
    stream.rounding_ns = rounding_ns;
    stamped.seen_ns = trace_now_ns();
    if (stamped.has_start && stamped.has_before && !operation.fenced)
        anchors_.saw_distance(stamped.start_ns - stamped.before_ns);
    stream.has_end = true;
    stream.end_ns = stamped.end_ns;
    stream.exit_ns = operation.exit_ns;
    if (stamped_.size() >= kMostStamped)
        stamped_.erase(stamped_.begin(), stamped_.begin() + kMostStamped / 2);
    stamped_.push_back(stamped);
    return CUDA_SUCCESS;
}

Stamps ContextHarvest::stamps_of(const Stamped& stamped) const {
    const auto moment = [&](double device_ns) {
        Moments at = anchors_.clock().at(device_ns);
        at.low_ns -= stamped.rounding_ns;
        at.high_ns += stamped.rounding_ns;
        return at;
    };
    const TimedOperation& operation = stamped.operation;
    Stamps stamps = {};
    stamps.enter_ns = operation.enter_ns;
    stamps.exit_ns = operation.exit_ns;
    stamps.recorded_ns = std::max(operation.exit_ns, operation.recorded_ns);
    stamps.fenced = operation.fenced;
    stamps.blocking = operation.blocking;
    stamps.has_start = stamped.has_start;
    stamps.has_before = stamped.has_before;
    if (stamped.has_start) stamps.start = moment(stamped.start_ns);
    if (stamped.has_before) stamps.before = moment(stamped.before_ns);
    stamps.end = moment(stamped.end_ns);
    // It was recorded after the call, and the host has seen it.
    stamps.end.low_ns = std::max(stamps.end.low_ns, std::min(operation.exit_ns, stamps.end.high_ns));
    stamps.end.high_ns = std::min(stamps.end.high_ns, std::max(stamped.seen_ns, stamps.end.low_ns));
    stamps.end.ns = std::clamp(stamps.end.ns, stamps.end.low_ns, stamps.end.high_ns);
    return stamps;
}

// What a kernel takes until the event behind it counts as the event's own.
EventFacts ContextHarvest::event_facts() const {
    EventFacts facts = anchors_.event_facts();
    facts.ns += gaps_.after_ns;
    facts.high_ns += gaps_.after_high_ns;
    facts.before_ns = gaps_.before_ns;
    facts.before_high_ns = gaps_.before_high_ns;
    return facts;
}

// Not where the device's clock may have jumped: nothing is learnt there.
bool ContextHarvest::is_sure(const Stamps& stamps) const {
    const int64_t most_ns = 3 * anchors_.clock().error_ns() + kSureNs;
    return stamps.end.likely_ns <= most_ns && (!stamps.has_start || stamps.start.likely_ns <= most_ns) &&
           (!stamps.has_before || stamps.before.likely_ns <= most_ns);
}

void ContextHarvest::map_stamps() {
    const auto known = [&](const Stamped& stamped) {
        return anchors_.clock().is_before_newest(stamped.end_ns);
    };
    for (const Stamped& stamped : stamped_) {
        if (!known(stamped)) continue;
        hold({stamped.operation, stamps_of(stamped), stamped.seen_ns});
        if (!is_sure(held_.back().stamps)) continue;
        delays_.learn(stamped.operation.operation, stamped.operation.alike,
                      observe(held_.back().stamps, event_facts()));
    }
    std::erase_if(stamped_, known);
    delays_.settle();
}

// Of what begins earlier and stays longer nothing is the oldest any more.
void ContextHarvest::hold(const Held& held) {
    while (!oldest_held_.empty() && oldest_held_.back() > held.operation.enter_ns) oldest_held_.pop_back();
    oldest_held_.push_back(held.operation.enter_ns);
    held_.push_back(held);
}

void ContextHarvest::let_go() {
    if (held_.front().operation.enter_ns == oldest_held_.front()) oldest_held_.pop_front();
    held_.pop_front();
}

void ContextHarvest::settle(const Moment& now) {
    while (!held_.empty()) {
        const Held& held = held_.front();
        const Usual usual = delays_.usual(held.operation.operation, held.operation.alike);
        const OperationTimes times = times_of(held.stamps, event_facts(), usual);
        const bool is_final = times.queued || delays_.is_sure(held.operation.operation) || is_last(now) ||
                              now.mono_ns - held.since_ns > kHoldNs || held_.size() > kMostHeld;
        if (!times.queued) last_what_ = held.operation.what;
        if (!is_final) return;
        rows_.push_back({held.operation, times});
        let_go();
    }
}

// Too little is known about empty queues, and everything that was seen began on one.
void ContextHarvest::wish(const Moment& now) {
    const bool first = wished_ns_ < 0;
    if (!first && (last_what_ == 0 || !delays_.wants_queued())) return;
    if (now.mono_ns - wishes_since_ns_ > kWishesPerNs) {
        wishes_since_ns_ = now.mono_ns;
        wishes_ = 0;
    }
    if (wishes_ >= kMostWishes || now.mono_ns - wished_ns_ < kWishEveryNs) return;
    ++wishes_;
    wished_ns_ = now.mono_ns;
    // What was asked for may be rare: every other time anything will do.
    wish_for_queue(wishes_ % 2 != 0 ? kAnyOperation : last_what_, kEventsBefore);
}

void ContextHarvest::give_up() {
    for (const Held& held : held_)
        rows_.push_back(
            {held.operation, times_of(held.stamps, event_facts(),
                                      delays_.usual(held.operation.operation, held.operation.alike))});
    held_.clear();
    oldest_held_.clear();
    stamped_.clear();
    streams_.clear();
    pending_ = 0;
}

std::vector<OperationRow> ContextHarvest::take_rows() {
    std::vector<OperationRow> rows;
    rows.swap(rows_);
    return rows;
}

int64_t ContextHarvest::oldest_ns() const {
    int64_t oldest_ns = oldest_held_.empty() ? INT64_MAX : oldest_held_.front();
    for (const auto& [id, stream] : streams_)
        if (!stream.pending.empty()) oldest_ns = std::min(oldest_ns, stream.pending.front().enter_ns);
    for (const Stamped& one : stamped_) oldest_ns = std::min(oldest_ns, one.operation.enter_ns);
    return oldest_ns;
}

row::device_clock ContextHarvest::clock_row() const {
    const ClockModel& clock = anchors_.clock();
    const Spread delay = delays_.delay(Operation::launch);
    return {.mono_ns = anchors_.newest_ns(),
            .context_id = number_,
            .device_id = device_,
            .error_ns = clock.error_ns(),
            .drift_ppb = clock.drift_ppb(),
            .residual_ns = clock.residual_ns(),
            .event_ns = anchors_.event_facts().ns,
            .record_ns = anchors_.record_ns(),
            .latency_ns = delay.is_known ? delay.ns : kNull,
            .latency_spread_ns = delay.is_known ? delay.high_ns - delay.low_ns : kNull,
            .grain_ns = anchors_.grain_ns(),
            .gap_before_ns = gaps_.before_ns,
            .gap_after_ns = gaps_.after_ns,
            .gaps_calibrated = gaps_.is_calibrated ? 1 : 0};
}

}  // namespace gpushim::shim
