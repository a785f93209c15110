// What the program's own ranges launched (range_kernel), and operators of a framework where another tool's
// trace tells of them (operator_kernel). Of the rows that are there, as it ran.
#include <optional>

#include "../../trace/timeline.h"
#include "../pass/start_order.h"
#include "../sql/run_db.h"
#include "open_ranges.h"
#include "operator_sums.h"
#include "own_parts.h"
#include "places.h"

namespace gpushim::analysis {

namespace {

// Calls are given as they were entered; nothing begins before its call, but for what clocks are apart.
constexpr int64_t kClocksApartNs = 10'000'000;

constexpr const char* kMarkers =
    "SELECT enter_ns, thread_id, kind = 'push', coalesce(domain_id, -1), coalesce(name_id, -1) FROM marker"
    " WHERE kind IN ('push', 'pop') ORDER BY enter_ns";

class RangePart : public PartByCall<RangePart> {
  public:
    explicit RangePart(const TraceFacts& facts)
        : facts_(facts), places_(facts), waiting_(facts.lanes.size() + 1), ranges_(facts.gpus.size() + 1) {
        const Database& base = facts.trace->base;
        if (base.is_of_first_schema() || !base.has("marker")) return;
        markers_.emplace(base.prepare(kMarkers));
        next_marker();
    }

    bool has_work() const override { return has_ranges_; }
    void see(const Call& call) override {
        if (!has_ranges_ || call.kind != CallKind::operation) return;
        take_markers_until(call.enter_ns);
        run_until(call.enter_ns - kClocksApartNs);
        const size_t gpu = gpu_of(call);
        const int32_t in = facts_.has_call(call) ? ranges_.launched(call.thread_id) : -1;
        if (!call.timed) return ranges_.untimed(in, gpu);
        const size_t lane = call.lane == kNoLane ? facts_.lanes.size() : static_cast<size_t>(call.lane);
        waiting_.add(lane, call.times.start_ns) = {call.times.start_ns, call.times.end_ns, gpu, in};
    }

    void finish(RunDb& run) override {
        run_until(INT64_MAX);
        ranges_.close_all();
        std::map<int64_t, std::string> names;
        if (!ranges_.sums().empty())
            for (Query row = facts_.trace->base.prepare("SELECT id, text FROM name"); row.step();)
                names[row.number(0)] = row.text(1);
        const auto text = [&](int64_t id) {
            const auto found = names.find(id);
            return found == names.end() ? Value(nullptr) : Value(found->second);
        };
        for (const auto& sum : ranges_.sums()) {
            const auto& [gpu, name] = sum.first;
            const auto& is = sum.second;
            const auto if_whole = [&](int64_t ns) { return is.whole > 0 ? Value(ns) : Value(nullptr); };
            run.add("range_kernel",
                    {gpu_id_of(gpu), text(name.first), text(name.second), is.ranges, is.operations, is.timed,
                     is.timed > 0 ? Value(is.sum_ns) : Value(nullptr), is.whole, if_whole(is.span_ns),
                     if_whole(is.idle_ns)});
        }
        write_operators(run);
    }

  private:
    struct Waiting {
        int64_t start_ns, end_ns;
        size_t gpu;
        int32_t in;
    };
    struct Marker {
        int64_t enter_ns, thread;
        bool begins;
        OpenRanges::Name name;
    };

    size_t gpu_of(const Call& call) const {
        const int32_t gpu = places_.gpu_of(call);
        return gpu < 0 ? facts_.gpus.size() : static_cast<size_t>(gpu);
    }
    int64_t gpu_id_of(size_t gpu) const {
        return gpu < facts_.gpus.size() ? facts_.gpus[gpu].gpu_id : kNotTold;
    }

    void next_marker() {
        has_marker_ = markers_ && markers_->step();
        if (!has_marker_) return markers_.reset();
        has_ranges_ = true;
        marker_ = {markers_->number(0),
                   markers_->number(1),
                   markers_->number(2) != 0,
                   {markers_->number(3), markers_->number(4)}};
    }

    void take_markers_until(int64_t now_ns) {
        for (; has_marker_ && marker_.enter_ns <= now_ns; next_marker())
            marker_.begins ? ranges_.push(marker_.thread, marker_.name)
                           : ranges_.pop(marker_.thread, marker_.name);
    }

    void run_until(int64_t now_ns) {
        while (const Waiting* next = waiting_.next(now_ns))
            ranges_.ran(next->in, next->gpu, next->start_ns, next->end_ns);
    }

    void write_operators(RunDb& run) const {
        if (!facts_.trace->base.has("launch_operator")) return;
        constexpr const char* kPasses[] = {"forward", "backward"};
        const auto text = [](const std::optional<std::string>& is) { return is ? Value(*is) : nullptr; };
        for (const OperatorSum& sum : operator_sums(facts_.trace->base)) {
            const int32_t gpu = places_.gpu_of_device(sum.device);
            const int64_t pass = sum.pass.value_or(0);
            run.add("operator_kernel",
                    {gpu_id_of(gpu < 0 ? facts_.gpus.size() : static_cast<size_t>(gpu)), text(sum.name),
                     text(sum.module),
                     pass == 1 || pass == 2 ? Value(std::string(kPasses[pass - 1])) : Value(nullptr),
                     text(sum.forward), sum.launches, sum.ns});
        }
    }

    const TraceFacts& facts_;
    const Places places_;
    std::optional<Query> markers_;  // none are left
    Marker marker_ = {};
    bool has_marker_ = false, has_ranges_ = false;
    StartOrder<Waiting> waiting_;
    OpenRanges ranges_;
};

const PartRegistration kRangePart(make_range_part);

}  // namespace

std::unique_ptr<Part> make_range_part(const TraceFacts& facts) { return std::make_unique<RangePart>(facts); }

}  // namespace gpushim::analysis
