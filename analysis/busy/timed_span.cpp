#include "timed_span.h"

#include <algorithm>
#include <cmath>

#include "../to_int64.h"
#include "chains.h"

namespace gpushim::analysis {

namespace {

// As many as the windows say were launched in it, and some of the host's other calls: growing step by step
// would take twice the room.
size_t expected_calls(std::span<const Window> windows, Interval host) {
    constexpr double kMost = 500'000, kOthers = 1.1;
    double operations = 0;
    for (const Window& window : windows)
        if (window.dur_ns > 0 && window.operations > 0)
            operations += static_cast<double>(window.operations) * static_cast<double>(host.length_ns()) /
                          static_cast<double>(window.dur_ns);
    return static_cast<size_t>(std::min(kMost, kOthers * operations));
}

// When operations with device times ran, by three readings of these. As long as all are exact, as other
// tools' are, the three are one.
class Readings {
  public:
    void add(const Call& call, size_t stream) {
        const DeviceTimes& times = call.times;
        if (are_one_ && !is_exact(times)) part();
        likely_.add({times.start_ns, times.end_ns}, stream);
        if (are_one_) return;
        certain_.add({times.start_high_ns, times.end_low_ns}, stream);
        // Of a chain, Bounds says when it may have run.
        if (call.chain == 0) possible_.add({times.start_low_ns, times.end_high_ns}, stream);
    }

    struct Unions {
        bool are_one;
        Intervals likely, possible_apart, certain_apart;
        const Intervals& possible() const { return are_one ? likely : possible_apart; }
        const Intervals& certain() const { return are_one ? likely : certain_apart; }
    };
    Unions take() && { return {are_one_, likely_.take(), possible_.take(), certain_.take()}; }

  private:
    static bool is_exact(const DeviceTimes& times) {
        return times.start_low_ns == times.start_ns && times.start_high_ns == times.start_ns &&
               times.end_low_ns == times.end_ns && times.end_high_ns == times.end_ns;
    }
    void part() {
        are_one_ = false;
        possible_ = certain_ = likely_;
    }

    bool are_one_ = true;
    GrowingUnion likely_, possible_, certain_;
};

constexpr double kFewOperations = 30;  // tell nothing of others

int64_t sum_of(int64_t operations, int64_t others) {
    const bool any = operations == Bounds::kAnyNumber || others == Bounds::kAnyNumber;
    return any ? Bounds::kAnyNumber : operations + others;
}

}  // namespace

bool is_refused(double coverage, double open_share) {
    return coverage < kRefusedCoverage && open_share > kNarrow;
}

double SpanBusy::open_share() const {
    return span.length_ns() > 0 ? static_cast<double>(open_ns) / static_cast<double>(span.length_ns()) : 0;
}

bool is_refused(const SpanBusy& busy) { return is_refused(busy.coverage().value_or(1), busy.open_share()); }

TimedSpan::TimedSpan(Interval host, bool goes_on, std::vector<Window> windows, std::span<const Lane> lanes,
                     const Bounds& bounds, std::span<const Call> before, std::span<const MayBeBusy> said)
    : host_(host),
      goes_on_(goes_on),
      windows_(std::move(windows)),
      lanes_(lanes),
      bounds_(bounds),
      states_(lanes.size()),
      calls_(before.begin(), before.end()),
      before_(before.size()),
      wanted_until_ns_(INT64_MAX) {
    for (size_t i = 0; i < lanes.size(); ++i) states_[i].behind = bounds.is_open(static_cast<int32_t>(i));
    for (const Call& call : before) {
        note(call);
        if (call.lane == kNoLane || !call.timed) continue;
        LaneState& state = states_[static_cast<size_t>(call.lane)];
        state.end_low_ns = std::max(state.end_low_ns, call.times.end_low_ns);
    }
    for (const MayBeBusy& one : said) may_be_busy(one);
}

void TimedSpan::use(std::vector<Call> memory) {
    const size_t wanted = before_ + expected_calls(windows_, host_);
    if (calls_.capacity() >= wanted) return;  // offered some before, when another one of many ended
    memory.clear();
    memory.reserve(wanted);
    memory.insert(memory.end(), calls_.begin(), calls_.end());
    calls_ = std::move(memory);
}

void TimedSpan::may_be_busy(const MayBeBusy& said) {
    DeviceState& device = devices_[said.device_id];
    device.may_be_busy.add(said.span, said.stream);
    if (said.span.start_ns < host_.end_ns) {
        const bool is_early = said.entered_ns < host_.start_ns;
        (is_early ? device.early : device.late).add(said.span, said.stream);
        if (is_early) device.early_operations = sum_of(device.early_operations, said.operations);
    }
    if (said.say == Bounds::Say::until_the_end && said.span.start_ns < host_.start_ns)
        device.known_from_ns = std::max(device.known_from_ns, said.span.end_ns);
}

void TimedSpan::note(const Call& call) {
    has_events_ |= call.timed && call.times.events > 0;
    has_untimed_ |= !call.timed && call.kind == CallKind::operation;
}

void TimedSpan::take(const Call& call) {
    if (call.enter_ns >= host_.end_ns && !closed_) close();
    if (closed_) return take_behind(call);
    calls_.push_back(call);
    note(call);
    if (call.kind != CallKind::operation || call.lane == kNoLane || !call.timed) return;
    const auto lane = static_cast<size_t>(call.lane);
    states_[lane].end_low_ns = std::max(states_[lane].end_low_ns, call.times.end_low_ns);
    if (call.times.start_ns < host_.end_ns) return;
    int64_t& next_ns = devices_[lanes_[lane].device_id].next_ns;
    next_ns = std::min(next_ns, call.times.start_ns);
}

void TimedSpan::take_behind(const Call& call) {
    if (most_behind_ > 0 && call.kind != CallKind::gone) behind_.push_back(call);
    const bool may_run = call.kind == CallKind::operation || call.kind == CallKind::gone;
    if (!may_run || call.lane == kNoLane) return;
    const auto lane = static_cast<size_t>(call.lane);
    DeviceState& device = devices_[lanes_[lane].device_id];
    device.limit_ns = std::min(device.limit_ns, std::max(call.enter_ns, states_[lane].end_low_ns));
    if (!call.timed) {
        device.untimed_next = true;
        return;
    }
    device.next_ns = std::min(device.next_ns, call.times.start_ns);
    device.may_be_busy.add({call.times.start_low_ns, call.times.end_high_ns}, lane);
}

std::vector<int64_t> TimedSpan::without_next(int64_t entered_ns) const {
    std::vector<int64_t> result;
    for (const Window& window : windows_) {
        const auto found = devices_.find(window.device_id);
        const bool is_there =
            found != devices_.end() && (found->second.untimed_next || found->second.next_ns <= entered_ns);
        if (!is_there) result.push_back(window.device_id);
    }
    return result;
}

void TimedSpan::close() {
    closed_ = true;
    wanted_until_ns_ = host_.end_ns;
    for (const LaneState& state : states_)
        if (state.behind) wanted_until_ns_ = std::max(wanted_until_ns_, state.end_low_ns);
}

bool TimedSpan::has_device_times(int64_t device_id) const {
    for (size_t i = 0; i < lanes_.size(); ++i)
        if (lanes_[i].device_id == device_id && states_[i].end_low_ns > host_.start_ns) return true;
    return false;
}

Interval TimedSpan::known_span(int64_t device_id) const {
    Interval span = host_;
    const auto found = devices_.find(device_id);
    if (found == devices_.end()) return span;
    const int64_t limit_ns = found->second.limit_ns;
    if (found->second.known_from_ns > host_.start_ns) {
        span.start_ns = found->second.known_from_ns;
        for (size_t i = 0; i < lanes_.size() && !goes_on_; ++i)
            if (lanes_[i].device_id == device_id && states_[i].behind)
                span.end_ns = std::max(span.end_ns, states_[i].end_low_ns);
    }
    span.end_ns = std::min(span.end_ns, limit_ns);
    if (span.length_ns() >= host_.length_ns() / 2) return span;
    if (found->second.known_from_ns > host_.start_ns && !has_device_times(device_id))
        return {host_.start_ns, host_.start_ns};
    return {host_.start_ns, std::min(host_.end_ns, limit_ns)};
}

// What we took of the threads while the window was open is measured in all; what one event's record takes was
// calibrated. The rest is what we ask before we record.
OwnCost TimedSpan::scaled(const OwnCost& cost, const Window& window) const {
    int64_t events = 0, operations = 0;
    for (size_t i = before_; i < calls_.size(); ++i) {
        if (!calls_[i].timed || calls_[i].times.events == 0) continue;
        ++operations;
        events += calls_[i].times.events;
    }
    OwnCost result = cost;
    if (events == 0 || window.own_host_ns <= 0 || window.dur_ns <= 0) return result;
    const double share = static_cast<double>(host_.length_ns()) / static_cast<double>(window.dur_ns);
    const int64_t own_ns = to_int64(static_cast<double>(window.own_host_ns) * share);
    if (result.record_ns == 0 || result.record_ns * events > own_ns) result.record_ns = own_ns / events;
    result.asking_ns = (own_ns - result.record_ns * events) / operations;
    return result;
}

// How long the device was busy with operations from before the span and with nothing else. They have no
// device times because none were asked for then, so they are like those that have them: as many take the mean
// and, in 95 of 100 cases, up to two standard deviations of their sum. They overlap others in the same
// proportion as the time in which they may have run does.
int64_t TimedSpan::likely_early_ns(const Window& window, MayHaveRun may, int64_t operations) const {
    double count = 0, sum_ns = 0, squares = 0;
    for (const Call& call : calls_) {
        if (call.kind != CallKind::operation || !call.timed || call.chain != 0 || call.lane == kNoLane ||
            lanes_[static_cast<size_t>(call.lane)].device_id != window.device_id)
            continue;
        const auto took_ns = static_cast<double>(call.times.end_ns - call.times.start_ns);
        ++count;
        sum_ns += took_ns;
        squares += took_ns * took_ns;
    }
    if (count < kFewOperations || operations == Bounds::kAnyNumber || may.ns == 0) return may.alone_ns;
    const double mean_ns = sum_ns / count, variance = std::max(0.0, squares / count - mean_ns * mean_ns);
    const auto untimed = static_cast<double>(operations);
    const double likely_ns = untimed * mean_ns + 2 * std::sqrt(untimed * variance);
    const double alone = static_cast<double>(may.alone_ns) / static_cast<double>(may.ns);
    return likely_ns < static_cast<double>(may.ns) ? to_int64(likely_ns * alone) : may.alone_ns;
}

SpanBusy TimedSpan::busy_of(const Window& window, Interval span, const OwnCost* cost) {
    SpanBusy result = {};
    result.window = window;
    result.span = span;
    Readings read;
    GrowingUnion chains;
    for (size_t i = 0; i < calls_.size(); ++i) {
        const Call& call = calls_[i];
        if (call.kind != CallKind::operation || call.lane == kNoLane ||
            lanes_[static_cast<size_t>(call.lane)].device_id != window.device_id)
            continue;
        if (i >= before_) ++result.operations;
        if (!call.timed) continue;
        if (i >= before_ && call.chain == 0) ++(call.times.queued ? result.queued : result.unqueued);
        const auto stream = static_cast<size_t>(call.lane);
        read.add(call, stream);
        if (call.chain != 0) chains.add({call.times.start_ns, call.times.end_ns}, stream);
    }
    DeviceState& device = devices_[window.device_id];
    const Bounds::Open open = bounds_.open(window.device_id, span.end_ns, host_.start_ns);
    const Readings::Unions times = std::move(read).take();
    const Intervals others = unite(device.may_be_busy.take(), unite(open.early, open.late));
    const Intervals may = clip(others.empty() ? times.possible() : unite(times.possible(), others), span);
    const Intervals ran = clip(times.likely, span);
    result.inferred_ns = length_ns(clip(chains.take(), span));
    // Nothing is assumed of what else has no device times, but it may have run. Of what was launched in the
    // span there is a reason why it has none (kernels of a kind, a stream), so others do not tell how long it
    // took.
    const Intervals early = clip(unite(device.early.take(), open.early), span);
    const Intervals late = clip(unite(device.late.take(), open.late), span);
    device.untimed = {unite(early, late), late};
    const int64_t late_ns = result.open_ns = length_ns(subtract(late, ran));
    const int64_t untimed_ns = length_ns(subtract(device.untimed.all, ran));
    result.low_ns = length_ns(clip(times.certain(), span));
    result.high_ns = std::max(result.low_ns, length_ns(may));
    result.busy_ns = std::clamp(length_ns(ran), result.low_ns, result.high_ns);

    const int64_t whole_ns = span.length_ns();
    result.estimate = {result.busy_ns, whole_ns};
    result.at_least = result.lowest = {result.low_ns, whole_ns};
    result.at_most = result.highest = {result.high_ns, whole_ns};
    result.undisturbed = cost != nullptr;
    if (cost == nullptr || whole_ns == 0) return result;
    const OwnCost own = scaled(*cost, window);
    const auto part = [&](Lean lean) {
        const Replayed run = replay(calls_, before_, lanes_, own, span, window.device_id, lean);
        return PartOf{length_ns(run.busy), run.span.length_ns()};
    };
    const PartOf parts[] = {part(Lean::estimate), part(Lean::shorter), part(Lean::longer),
                            part(Lean::shortest), part(Lean::longest)};
    if (std::any_of(std::begin(parts), std::end(parts), [](const PartOf& one) { return one.whole_ns <= 0; }))
        return result;
    // Operations that hold up others make the whole longer, and may so make the share smaller.
    const auto less = [](const PartOf& a, const PartOf& b) {
        return *ratio_of({&a, 1}) < *ratio_of({&b, 1});
    };
    const std::span<const PartOf> all = parts, likely_ones = all.first(3);
    result.estimate = parts[0];
    result.at_least = *std::min_element(likely_ones.begin(), likely_ones.end(), less);
    result.at_most = *std::max_element(likely_ones.begin(), likely_ones.end(), less);
    result.lowest = *std::min_element(all.begin(), all.end(), less);
    result.highest = *std::max_element(all.begin(), all.end(), less);
    const auto add = [](PartOf& to, int64_t ns) { to.part_ns = std::min(to.whole_ns, to.part_ns + ns); };
    const int64_t early_operations = sum_of(device.early_operations, open.early_operations);
    add(result.at_most,
        late_ns + likely_early_ns(window, {length_ns(early), untimed_ns - late_ns}, early_operations));
    add(result.highest, untimed_ns);
    return result;
}

std::vector<SpanBusy> TimedSpan::finish(const std::map<int64_t, OwnCost>& cost) {
    if (has_untimed_) time_chains(calls_, lanes_, cost);
    std::vector<SpanBusy> all;
    for (const Window& window : windows_) {
        const auto found = cost.find(window.device_id);
        all.push_back(
            busy_of(window, known_span(window.device_id), found != cost.end() ? &found->second : nullptr));
        coverage_.push_back(all.back().coverage().value_or(1));
        refused_.push_back(is_refused(all.back()));
    }
    return all;
}

TimedSpan::Contents TimedSpan::contents(const std::map<int64_t, OwnCost>& cost) && {
    Contents result = {host_, {}, before_, behind_.size(), {}, {}, std::move(coverage_), std::move(refused_),
                       {}};
    for (const Window& window : windows_) {
        result.known.push_back({window.device_id, known_span(window.device_id)});
        result.untimed.push_back(std::move(devices_[window.device_id].untimed));
        if (const auto found = cost.find(window.device_id);
            found != cost.end() && has_events_ && !result.cost)
            result.cost = scaled(found->second, window);
    }
    result.calls = std::move(calls_);
    result.calls.insert(result.calls.end(), behind_.begin(), behind_.end());
    return result;
}

}  // namespace gpushim::analysis
