// All parts of one trace: each call, and each piece of the time in which operations have device times, is
// given to one after the other. A piece is first told of as it would have been without our events, and with
// the steps that lie wholly in it. One thread calls it.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "../../busy/timed_span.h"
#include "../../parallel/in_parallel.h"
#include "part.h"

namespace gpushim::analysis {

// When only operations without device times can have run: spans in order, asked of steps in order.
struct OpenTime {
    Intervals spans;
    size_t next = 0;

    double share_of(Interval step) {
        while (next < spans.size() && spans[next].end_ns <= step.start_ns) ++next;
        int64_t open_ns = 0;
        for (size_t i = next; i < spans.size() && spans[i].start_ns < step.end_ns; ++i)
            open_ns += std::min(spans[i].end_ns, step.end_ns) - std::max(spans[i].start_ns, step.start_ns);
        return step.length_ns() > 0 ? static_cast<double>(open_ns) / static_cast<double>(step.length_ns())
                                    : 0;
    }
};

class Parts {
  public:
    Parts(const TraceFacts& facts, std::vector<std::unique_ptr<Part>> parts)
        : facts_(facts), parts_(std::move(parts)), working_(working()), groups_(groups()) {}

    void see(const Call& call) {
        seen_.push_back(call);
        if (seen_.size() == kAtOnce) see_waiting();
    }
    void see_all(std::span<const Call> calls) {
        for (Part* part : working_) part->see_all(calls);
    }

    // Gives back the calls' vector.
    std::vector<Call> piece(TimedSpan::Contents contents) {
        see_waiting();
        const std::vector<int32_t> hardly_timed = hardly_timed_steps(contents);
        Undisturbed would;
        if (contents.cost)
            would = undisturb(std::move(contents.calls), contents.before, contents.behind, facts_.lanes,
                              *contents.cost, contents.known);
        else
            would = as_it_was(std::move(contents));
        TimedPiece piece = {
            {would.moved(contents.host.start_ns), would.moved(contents.host.end_ns)}, {}, {}, {}, {}};
        piece.known.resize(facts_.gpus.size());
        piece.untimed.resize(facts_.gpus.size());
        piece.coverage.resize(facts_.gpus.size(), 1);
        for (size_t i = 0; i < contents.known.size(); ++i)
            for (size_t gpu = 0; gpu < facts_.gpus.size(); ++gpu)
                if (facts_.gpus[gpu].device_id == contents.known[i].device_id) {
                    piece.known[gpu] = would.spans[i];
                    piece.coverage[gpu] = contents.coverage[i];
                    piece.untimed[gpu] = {moved(contents.untimed[i].all, would),
                                          moved(contents.untimed[i].late, would)};
                    if (contents.refused[i]) piece.known[gpu] = {0, 0};
                }
        piece.steps = whole_steps(contents.host, would, piece.known, hardly_timed);
        piece.would = &would;
        for (const auto& part : parts_) part->begin(piece);
        in_parallel(groups_.size(), groups_.size(), [&](size_t i) { give(groups_[i], would); });
        for (const auto& part : parts_) part->end();
        return std::move(would.calls);
    }

    void finish(RunDb& run) {
        see_waiting();
        for (const auto& part : parts_) part->finish(run);
    }

  private:
    // So many at a time, while they and the part's tables are near.
    static constexpr size_t kAtOnce = 128;

    void see_waiting() {
        see_all(seen_);
        seen_.clear();
    }

    using Group = std::vector<Part*>;  // whose parts are given a piece by one thread

    Group working() const {
        Group all;
        for (const auto& part : parts_)
            if (part->has_work()) all.push_back(part.get());
        return all;
    }

    // Two, where there are processors for them.
    std::vector<Group> groups() const {
        Group all, apart;
        for (Part* part : working_) (facts_.reads_ahead && part->takes_long() ? apart : all).push_back(part);
        return apart.empty() ? std::vector<Group>{all} : std::vector<Group>{all, apart};
    }

    static void give(const Group& parts, const Undisturbed& would) {
        using Some = std::span<const Call>;
        const Some calls(would.calls);
        const size_t end = calls.size() - would.behind;
        give(parts, calls.first(would.before), [](Part& part, Some some) { part.take_all(some, true); });
        give(parts, calls.subspan(would.before, end - would.before),
             [](Part& part, Some some) { part.take_all(some, false); });
        give(parts, calls.subspan(end), [](Part& part, Some some) {
            for (const Call& call : some) part.behind(call);
        });
    }

    template <class Give>
    static void give(const Group& parts, std::span<const Call> calls, Give give_to) {
        std::vector<Call> memory;
        while (!calls.empty()) {
            const auto some = calls.first(std::min(kAtOnce, calls.size()));
            const auto alone = without_chains(some, memory);
            for (Part* part : parts) give_to(*part, part->wants_chains() ? some : alone);
            calls = calls.subspan(some.size());
        }
    }

    // As long as nobody changes the memory.
    static std::span<const Call> without_chains(std::span<const Call> calls, std::vector<Call>& memory) {
        const auto is_chain = [](const Call& call) { return call.chain != 0; };
        if (std::none_of(calls.begin(), calls.end(), is_chain)) return calls;
        memory.assign(calls.begin(), calls.end());
        for (Call& call : memory) {
            if (is_chain(call)) call.timed = false;
            call.chain = 0;
        }
        return memory;
    }

    // What ran in them is not known, so they are not timed, though the window was open: by number.
    std::vector<int32_t> hardly_timed_steps(const TimedSpan::Contents& contents) const {
        struct Count {
            int64_t operations = 0, timed = 0;
        };
        std::vector<int32_t> steps;
        if (std::all_of(contents.untimed.begin(), contents.untimed.end(),
                        [](const TimedSpan::Untimed& untimed) { return untimed.late.empty(); }))
            return steps;  // whatever had no times left no time open
        std::vector<Count> of_gpu(facts_.gpus.size());
        std::vector<OpenTime> open = open_times(contents);
        int32_t step = kNoStep;
        const auto close = [&] {
            bool is_hardly = false;
            for (size_t gpu = 0; gpu < of_gpu.size() && step != kNoStep; ++gpu) {
                const Count& one = std::exchange(of_gpu[gpu], {});
                if (one.operations == 0) continue;
                const Step& within = facts_.steps[static_cast<size_t>(step)];
                const double open_share = open[gpu].share_of({within.begin_ns, within.end_ns});
                is_hardly |= is_refused(static_cast<double>(one.timed) / static_cast<double>(one.operations),
                                        open_share);
            }
            if (is_hardly) steps.push_back(step);
            of_gpu.assign(of_gpu.size(), {});
        };
        for (size_t i = contents.before; i < contents.calls.size() - contents.behind; ++i) {
            const Call& call = contents.calls[i];
            if (call.kind != CallKind::operation || call.lane == kNoLane) continue;
            const int32_t gpu = facts_.gpu_of_lane[static_cast<size_t>(call.lane)];
            if (gpu < 0) continue;
            if (call.step != step) close();
            step = call.step;
            ++of_gpu[static_cast<size_t>(gpu)].operations;
            of_gpu[static_cast<size_t>(gpu)].timed += call.timed && call.chain == 0;
        }
        close();
        return steps;
    }

    // When only operations without device times can have run; by GPU.
    std::vector<OpenTime> open_times(const TimedSpan::Contents& contents) const {
        std::vector<OpenTime> open(facts_.gpus.size());
        std::vector<Intervals> ran(facts_.gpus.size());
        for (const Call& call : contents.calls) {
            if (call.kind != CallKind::operation || call.lane == kNoLane || !call.timed) continue;
            const int32_t gpu = facts_.gpu_of_lane[static_cast<size_t>(call.lane)];
            if (gpu >= 0) ran[static_cast<size_t>(gpu)].push_back({call.times.start_ns, call.times.end_ns});
        }
        for (size_t i = 0; i < contents.known.size(); ++i)
            for (size_t gpu = 0; gpu < open.size(); ++gpu)
                if (facts_.gpus[gpu].device_id == contents.known[i].device_id)
                    open[gpu].spans = subtract(contents.untimed[i].late, unite(std::move(ran[gpu])));
        return open;
    }

    static Intervals moved(Intervals spans, const Undisturbed& would) {
        for (Interval& span : spans) span = {would.moved(span.start_ns), would.moved(span.end_ns)};
        return spans;
    }

    static Undisturbed as_it_was(TimedSpan::Contents&& contents) {
        Undisturbed same = {std::move(contents.calls), contents.before, contents.behind, {}, {}};
        for (const DeviceSpan& known : contents.known) same.spans.push_back(known.span);
        return same;
    }

    std::vector<WholeStep> whole_steps(Interval host, const Undisturbed& would,
                                       const std::vector<Interval>& known,
                                       const std::vector<int32_t>& hardly_timed) const {
        std::vector<WholeStep> whole;
        const auto first =
            std::partition_point(facts_.steps.begin(), facts_.steps.end(),
                                 [&](const Step& step) { return step.begin_ns < host.start_ns; });
        for (auto step = first; step != facts_.steps.end() && step->end_ns <= host.end_ns; ++step) {
            const Interval span = {would.moved(step->begin_ns), would.moved(step->end_ns)};
            const bool is_known = std::all_of(known.begin(), known.end(), [&](const Interval& device) {
                return device.length_ns() == 0 ||
                       (device.start_ns <= span.start_ns && span.end_ns <= device.end_ns);
            });
            const auto number = static_cast<int32_t>(step - facts_.steps.begin());
            const bool is_timed = !std::binary_search(hardly_timed.begin(), hardly_timed.end(), number);
            if (is_known && is_timed && span.length_ns() > 0) whole.push_back({number, span});
        }
        return whole;
    }

    const TraceFacts& facts_;
    const std::vector<std::unique_ptr<Part>> parts_;
    const Group working_;
    const std::vector<Group> groups_;
    std::vector<Call> seen_;  // that parts have not been given yet
};

}  // namespace gpushim::analysis
