#include "busy.h"

#include <algorithm>
#include <list>
#include <set>
#include <utility>

#include "../parallel/read_ahead.h"
#include "../to_int64.h"
#include "../trace/device_source.h"
#include "ahead.h"
#include "long_union.h"
#include "pieces.h"
#include "sampled.h"

namespace gpushim::analysis {

namespace {

const std::vector<int64_t> kAnywhere;
constexpr size_t kLookAhead = 4096;  // calls behind a piece, for what ended the gaps at its end
constexpr double kAllTimed = 0.98;   // from here on the rest is bounded, not guessed at

// Calls and spans that reach beyond the moment; what does not is forgotten from time to time.
template <class Item>
class Recent {
  public:
    template <class End>
    void add(Item item, int64_t now_ns, End end) {
        items_.push_back(std::move(item));
        if (items_.size() < keep_) return;
        std::erase_if(items_, [&](const Item& old) { return end(old) <= now_ns; });
        keep_ = 2 * items_.size() + 256;
    }
    template <class End>
    std::vector<Item> at(int64_t now_ns, End end) const {
        std::vector<Item> result;
        std::copy_if(items_.begin(), items_.end(), std::back_inserter(result),
                     [&](const Item& item) { return end(item) > now_ns; });
        return result;
    }

  private:
    std::vector<Item> items_;
    size_t keep_ = 256;
};

int64_t end_of(const MayBeBusy& said) { return said.span.end_ns; }
int64_t end_of(const Call& call) {
    const bool runs = call.timed && call.lane != kNoLane;
    return runs ? std::max(call.exit_ns, call.times.end_high_ns) : call.exit_ns;
}

// The newest that was known by then, else the first.
std::map<int64_t, OwnCost> costs_at(const std::vector<DeviceClock>& clocks, int64_t now_ns) {
    std::map<int64_t, DeviceClock> known;
    for (const DeviceClock& clock : clocks) {
        DeviceClock& best = known.try_emplace(clock.device_id, clock).first->second;
        const bool in_time = clock.mono_ns <= now_ns;
        const auto take = [&](auto member) {
            if ((best.*member && !in_time) || !(clock.*member)) return;
            best.*member = clock.*member;
        };
        for (const auto member : {&DeviceClock::event_ns, &DeviceClock::record_ns, &DeviceClock::latency_ns,
                                  &DeviceClock::latency_spread_ns})
            take(member);
    }
    std::map<int64_t, OwnCost> costs;
    for (const auto& [device, clock] : known)
        if (clock.event_ns)
            costs[device] = {clock.record_ns.value_or(0), 0, *clock.event_ns, clock.latency_ns.value_or(0),
                             clock.latency_spread_ns.value_or(0)};
    return costs;
}

class Pass {
  public:
    Pass(const Trace& trace, CallWatch* watch)
        : timeline_(trace, watch != nullptr ? CallsOf::host_too : CallsOf::devices),
          watch_(watch),
          ahead_(trace),
          bounds_(timeline_.lanes(), [this](const MayBeBusy& said) { may_be_busy(said); }) {
        for (const Lane& lane : timeline_.lanes()) {
            if (lane.device_id >= 0) devices_.insert(lane.device_id);
            whole_of_lane_.push_back(&whole_[lane.device_id]);
        }
        pieces_ = pieces_of(timeline_.windows(), devices_, watch != nullptr ? watch->cuts() : kAnywhere);
        next_from_ns_ = start_of(next_);
        Query start = trace.base.prepare("SELECT value FROM meta WHERE key = 'started_mono_ns'");
        run_.start_ns = std::max(start.step() ? start.number(0) : 0, trace.from_ns);
        run_.end_ns = run_.start_ns;
        Query end = trace.base.prepare("SELECT max(mono_ns) FROM clock");
        if (end.step() && !end.is_null(0)) run_.end_ns = std::max(run_.end_ns, end.number(0));
    }

    std::vector<DeviceBusy> run() {
        ReadAhead<Call> ahead([this](Call& call) { return timeline_.next(call); },
                              watch_ != nullptr && watch_->reads_ahead());
        while (Call* call = ahead.next()) {
            if (watch_ != nullptr && call->kind != CallKind::gone) watch_->see(*call);
            take(*call);
        }
        open_spans(INT64_MAX);
        finish_spans(nullptr);
        std::vector<DeviceBusy> all;
        for (const int64_t device : devices_) {
            const Intervals open = bounds_.open(device, run_.end_ns);
            const int64_t may_ns = whole_[device].take_ns(open, run_);
            all.push_back({device, run_, may_ns, std::move(busy_[device]), timeline_.windows_left_out()});
        }
        return all;
    }

  private:
    void take(const Call& call) {
        const auto wants = [&call](const TimedSpan& span) { return span.wants(call); };
        if (!std::all_of(spans_.begin(), spans_.end(), wants)) finish_spans(&call);
        if (next_from_ns_ <= call.enter_ns) open_spans(call.enter_ns);
        now_ns_ = call.enter_ns;
        run_.end_ns = std::max({run_.end_ns, call.exit_ns, call.timed ? call.times.end_ns : call.exit_ns});
        bounds_.take(call);
        if (std::exchange(is_one_long_, false))
            for (auto& [device, whole] : whole_)
                if (whole.is_long()) whole.settle(bounds_.open(device, INT64_MAX), now_ns_, run_);
        for (TimedSpan& span : spans_) span.take(call);
        if (call.kind != CallKind::gone && lasts_into_a_piece(call))
            before_.add(call, now_ns_, [](const Call& old) { return end_of(old); });
    }

    // One to come: of nothing else a piece that is opened later asks.
    template <class Item>
    bool lasts_into_a_piece(const Item& item) const {
        return end_of(item) > next_from_ns_;
    }

    void may_be_busy(const MayBeBusy& said) {
        LongUnion& whole = *whole_of_lane_[said.stream];
        whole.add(said.span, said.stream);
        is_one_long_ |= whole.is_long();
        if (said.say == Bounds::Say::timed) return;  // a span knows it by its call
        for (TimedSpan& open : spans_) open.may_be_busy(said);
        if (lasts_into_a_piece(said))
            recent_.add(said, now_ns_, [](const MayBeBusy& old) { return end_of(old); });
    }

    int64_t start_of(size_t piece) const {
        return piece < pieces_.size() ? pieces_[piece].host.start_ns : INT64_MAX;
    }

    void open_spans(int64_t until_ns) {
        for (; next_ < pieces_.size() && next_from_ns_ <= until_ns; next_from_ns_ = start_of(++next_)) {
            const PlannedPiece& piece = pieces_[next_];
            const int64_t from_ns = piece.host.start_ns;
            const bool goes_on =
                next_ + 1 < pieces_.size() && pieces_[next_ + 1].host.start_ns <= piece.host.end_ns;
            spans_.emplace_back(piece.host, goes_on, piece.windows, timeline_.lanes(), bounds_,
                                before_.at(from_ns, [](const Call& call) { return end_of(call); }),
                                recent_.at(from_ns, [](const MayBeBusy& said) { return end_of(said); }));
            if (watch_ != nullptr) spans_.back().look_ahead(kLookAhead);
            if (spans_.size() == 1) spans_.back().use(std::exchange(spare_, {}));
        }
    }

    void finish_spans(const Call* next) {
        for (auto span = spans_.begin(); span != spans_.end();) {
            if (next != nullptr && span->wants(*next)) {
                ++span;
                continue;
            }
            const std::map<int64_t, OwnCost> cost = costs_at(timeline_.clocks(), now_ns_);
            for (SpanBusy& busy : span->finish(cost)) busy_[busy.window.device_id].push_back(busy);
            if (watch_ != nullptr) {
                if (next != nullptr) look_further(*span, next->enter_ns);
                spare_ = watch_->piece(std::move(*span).contents(cost));
            }
            span = spans_.erase(span);
            if (!spans_.empty()) spans_.back().use(std::exchange(spare_, {}));
        }
    }

    // For devices that had nothing to do for so long that calls behind the span are no longer kept.
    void look_further(TimedSpan& span, int64_t from_ns) {
        for (const int64_t device : span.without_next(from_ns))
            if (const auto call = ahead_.first_of(device, from_ns)) span.put_behind(*call);
    }

    Timeline timeline_;
    CallWatch* watch_;
    Ahead ahead_;
    Bounds bounds_;
    std::set<int64_t> devices_;
    std::vector<PlannedPiece> pieces_;
    size_t next_ = 0;
    int64_t next_from_ns_ = INT64_MAX;  // where that piece starts; INT64_MAX: there is none
    std::list<TimedSpan> spans_;
    std::vector<Call> spare_;  // the memory of the last one's calls
    Recent<Call> before_;
    Recent<MayBeBusy> recent_;
    std::map<int64_t, LongUnion> whole_;  // by device
    std::vector<LongUnion*> whole_of_lane_;
    bool is_one_long_ = false;
    std::map<int64_t, std::vector<SpanBusy>> busy_;
    Interval run_ = {0, 0};
    int64_t now_ns_ = 0;
};

PartOf scaled(const PartOf& part, int64_t whole_ns) {
    if (part.whole_ns <= 0) return part;
    const double share = static_cast<double>(part.part_ns) / static_cast<double>(part.whole_ns);
    return {to_int64(share * static_cast<double>(whole_ns)), whole_ns};
}

bool counts(const SpanBusy& busy) { return !is_refused(busy) && busy.estimate.whole_ns > 0; }

// Each window as long as the part of the run that it stands for, up to the next one. Not as long as it is:
// the busier a device is, the shorter the budget makes them.
//
//   window    |███|               |██|                |█|
//   slot      |-------------------|-------------------|-------------------|
std::vector<PartOf> parts(const DeviceBusy& device, PartOf SpanBusy::*member) {
    std::vector<const SpanBusy*> counted;
    for (const SpanBusy& busy : device.windows)
        if (counts(busy)) counted.push_back(&busy);
    std::vector<PartOf> all;
    for (size_t i = 0; i < counted.size(); ++i) {
        const PartOf& part = counted[i]->*member;
        const int64_t from_ns = i == 0 ? device.run.start_ns : counted[i]->span.start_ns;
        const int64_t until_ns = i + 1 < counted.size() ? counted[i + 1]->span.start_ns : device.run.end_ns;
        const bool stands_for_more = counted.size() > 1 && counted[i]->window.slot && until_ns > from_ns;
        all.push_back(stands_for_more ? scaled(part, until_ns - from_ns) : part);
    }
    return all;
}

double share_of(int64_t part_ns, int64_t whole_ns) {
    return whole_ns > 0 ? static_cast<double>(part_ns) / static_cast<double>(whole_ns) : 0;
}

// Of the time in windows that count.
double share_of_windows(const DeviceBusy& device, int64_t SpanBusy::*part) {
    int64_t part_ns = 0, whole_ns = 0;
    for (const SpanBusy& busy : device.windows) {
        if (!counts(busy)) continue;
        part_ns += busy.*part;
        whole_ns += busy.span.length_ns();
    }
    return share_of(part_ns, whole_ns);
}

}  // namespace

Range certain_range(const SpanBusy& busy) {
    const int64_t whole_ns = busy.span.length_ns();
    return {std::min(share_of(busy.low_ns, whole_ns), ratio_of({&busy.lowest, 1}).value_or(1)),
            std::max(share_of(busy.high_ns, whole_ns), ratio_of({&busy.highest, 1}).value_or(0))};
}

std::optional<double> DeviceBusy::coverage() const {
    int64_t operations = 0, timed = 0;
    for (const SpanBusy& busy : windows) {
        operations += busy.operations;
        timed += busy.queued + busy.unqueued;
    }
    return operations > 0 ? std::optional(share_of(timed, operations)) : std::nullopt;
}

double DeviceBusy::open_share() const { return share_of_windows(*this, &SpanBusy::open_ns); }
double DeviceBusy::inferred_share() const { return share_of_windows(*this, &SpanBusy::inferred_ns); }

std::optional<int64_t> DeviceBusy::timed_until_ns() const {
    std::optional<int64_t> until_ns;
    for (const SpanBusy& busy : windows)
        if (counts(busy)) until_ns = std::max(until_ns.value_or(INT64_MIN), busy.span.end_ns);
    return until_ns;
}

double DeviceBusy::timed_share() const {
    int64_t timed_ns = 0;
    for (const SpanBusy& busy : windows)
        if (counts(busy)) timed_ns += busy.span.length_ns();
    return std::min(1.0, share_of(timed_ns, run.length_ns()));
}

int64_t DeviceBusy::windows_that_count() const {
    std::set<int64_t> begins;
    for (const SpanBusy& busy : windows)
        if (counts(busy)) begins.insert(busy.window.enter_ns);
    return static_cast<int64_t>(begins.size());
}

bool DeviceBusy::sampled() const { return timed_share() < kAllTimed; }

std::string DeviceBusy::level() const {
    return ratio_of(parts(*this, &SpanBusy::estimate)) ? told_by : "host";
}

std::string DeviceBusy::why() const {
    if (may_be_busy_ns == 0 || level() != "host") return "";
    if (windows.empty())
        return windows_gone ? "the rows of all windows were removed" : "device times are not recorded";
    if (std::all_of(windows.begin(), windows.end(), [](const SpanBusy& busy) { return is_refused(busy); }))
        return "too few of the operations in the windows have device times";
    return "the windows were shorter than the queue";
}

Figure DeviceBusy::as_it_ran() const {
    Figure figure;
    int64_t low_ns = 0, busy_ns = 0;
    for (const SpanBusy& busy : windows) {
        low_ns += busy.low_ns;
        busy_ns += busy.busy_ns;
    }
    figure.low = share_of(low_ns, run.length_ns());
    figure.high = std::max(figure.low, share_of(may_be_busy_ns, run.length_ns()));
    if (may_be_busy_ns == 0) figure.share = 0;
    if (level() != "host" && !sampled())
        figure.share = std::clamp(share_of(busy_ns, run.length_ns()), figure.low, figure.high);
    return figure;
}

// How busy the time outside of windows can have been.
double DeviceBusy::rest_high() const {
    int64_t timed_ns = 0, high_ns = 0;
    for (const SpanBusy& busy : windows) {
        if (!counts(busy)) continue;
        timed_ns += busy.span.length_ns();
        high_ns += busy.high_ns;
    }
    return std::clamp(share_of(may_be_busy_ns - high_ns, run.length_ns() - timed_ns), 0.0, 1.0);
}

Figure DeviceBusy::without_us() const {
    const auto estimate = ratio_of(parts(*this, &SpanBusy::estimate));
    if (!estimate) return as_it_ran();
    const double timed = timed_share(), most = rest_high();
    double at_least = std::min(*estimate, *ratio_of(parts(*this, &SpanBusy::at_least)));
    double at_most = std::max(*estimate, *ratio_of(parts(*this, &SpanBusy::at_most)));
    double rest_low = 0, rest_high = most;  // where only bounds are known
    if (const auto low = sampling_range(parts(*this, &SpanBusy::at_least)); low && sampled()) {
        at_least = std::min(at_least, low->low);
        at_most = std::max(at_most, sampling_range(parts(*this, &SpanBusy::at_most))->high);
        rest_low = std::clamp(at_least, 0.0, most);
        rest_high = std::clamp(at_most, 0.0, most);
    }
    const auto mixed = [&](double in_windows, double rest) {
        return std::clamp(timed * in_windows + (1 - timed) * rest, 0.0, 1.0);
    };
    return {mixed(*estimate, std::min(*estimate, most)), mixed(at_least, rest_low),
            mixed(at_most, rest_high)};
}

// Nothing is taken to be like the windows.
Figure DeviceBusy::certain() const {
    Figure figure = without_us();
    const Figure ran = as_it_ran();
    PartOf low = {0, 0}, high = {0, 0};
    for (const SpanBusy& busy : windows) {
        if (!counts(busy)) continue;
        low = {low.part_ns + busy.lowest.part_ns, low.whole_ns + busy.lowest.whole_ns};
        high = {high.part_ns + busy.highest.part_ns, high.whole_ns + busy.highest.whole_ns};
    }
    const double timed = timed_share(), rest = (1 - timed) * rest_high();
    figure.low = std::min({figure.low, ran.low, timed * ratio_of({&low, 1}).value_or(0)});
    figure.high = std::max({figure.high, ran.high, timed * ratio_of({&high, 1}).value_or(0) + rest});
    return figure;
}

std::vector<DeviceBusy> busy_of(const Trace& trace, CallWatch* watch) {
    std::vector<DeviceBusy> all = Pass(trace, watch).run();
    if (is_timed_by_cupti(trace.base))
        for (DeviceBusy& busy : all) busy.told_by = "cupti";
    return all;
}

}  // namespace gpushim::analysis
