// Kernels by name and GPU: how often in the whole run, by themselves and in graphs; how long in pieces, and
// what running beside a collective did to that.
//
//   name a    ███1███    ███2███           sum: 1 + 2 + 3
//             ███3███                      union: 1 and 2
//   comm                  █████████        overlapped: 2; alone: 1 and 3
#include <algorithm>
#include <map>

#include "../../text/names.h"
#include "../pass/kernel_index.h"
#include "../sql/histogram.h"
#include "../sql/run_db.h"
#include "concurrency.h"
#include "own_parts.h"
#include "places.h"

namespace gpushim::analysis {

namespace {

struct GraphLaunches {
    int64_t count = 0, in_steps = 0;
};

struct Sums {
    int64_t launches = 0, graph_launches = 0, invalid = 0;
    int64_t in_steps = 0, timed_in_steps = 0, in_steps_ns = 0;  // in_steps: in graphs, too
    Moments times;
    int64_t union_ns = 0, covered_ns = INT64_MIN, unsure_ns = 0;
    int64_t small = 0, overlapped = 0, overlapped_ns = 0;
    int64_t small_grid = 0, small_grid_ns = 0, unknown_grid = 0;
    double small_grid_filled_ns = 0;
    Histogram all, alone;

    int64_t alone_ns() const { return times.sum - overlapped_ns; }
    int64_t alone_count() const { return times.count - overlapped; }
    // A graph has so many nodes that run it.
    void add_nodes(const GraphLaunches& graph, int64_t nodes) {
        graph_launches += graph.count * nodes;
        in_steps += graph.in_steps * nodes;
    }
    bool empty() const { return launches + graph_launches + times.count + invalid == 0; }
};

constexpr const char* kNameNotKnown = "(name not known)";
constexpr uint64_t kUncounted = UINT64_MAX;  // what is here only because others ran beside it

class KernelPart : public PartByCall<KernelPart> {
  public:
    explicit KernelPart(const TraceFacts& facts)
        : facts_(facts), places_(facts), names_(facts.kernels), index_(facts) {
        names_.push_back({kNameNotKnown, {}});
        for (size_t i = 0; i < names_.size(); ++i) by_name_.try_emplace(names_[i].name, i);
        // The last GPU is the one that is not known.
        sums_.assign(facts.gpus.size() + 1, std::vector<Sums>(names_.size()));
        for (size_t gpu = 0; gpu < sums_.size(); ++gpu)
            beside_.emplace_back([this, gpu](const Ran& ran) { started(gpu, ran); },
                                 [this, gpu](const Ran& ran) { ended(gpu, ran); }, places_.size());
    }

    void see(const Call& call) override {
        if (call.kind != CallKind::operation) return;
        const bool is_in_step = facts_.is_in_step(call);
        if (call.type == OperationClass::graph) {
            GraphLaunches& launches = graphs_[{gpu_of(call), call.detail}];
            ++launches.count;
            launches.in_steps += is_in_step;
        }
        if (!is_kernel(call)) return;
        Sums& sums = sums_[gpu_of(call)][kernel_of(call)];
        ++sums.launches;
        sums.in_steps += is_in_step;
    }

    void take(const Call& call, bool before) override {
        if (call.kind != CallKind::operation || !call.timed) return;
        const size_t gpu = gpu_of(call);
        last_ns_ = std::max(last_ns_, call.enter_ns);
        // A profile may begin with work that was called before the time in which all is known.
        const bool counts = is_kernel(call) && (!before || call.enter_ns > counted_until_ns_);
        const uint64_t who = counts ? kernel_of(call) : kUncounted;
        if (call.times.end_ns <= call.times.start_ns) {
            if (counts) ++sums_[gpu][who].invalid;
            return;
        }
        const bool is_comm = this->is_comm(call);
        if (counts && !is_comm) note_grid(gpu, call, sums_[gpu][who]);
        if (counts && facts_.is_in_step(call)) {
            Sums& sums = sums_[gpu][who];
            ++sums.timed_in_steps;
            sums.in_steps_ns += call.times.end_ns - call.times.start_ns;
        }
        Ran ran = {call.times.start_ns, call.times.end_ns, who, is_comm};
        ran.unsure_ns = std::min(call.times.likely_ns, ran.end_ns - ran.start_ns);
        beside_[gpu].add(call.enter_ns, ran, places_.of(call));
    }

    void end() override {
        for (Concurrency& beside : beside_) beside.finish();
        counted_until_ns_ = last_ns_;
    }

    void finish(RunDb& run) override {
        if (has_totals(*facts_.trace)) read_totals();
        for (const auto& [graph, launches] : graphs_) add_graph(graph.first, graph.second, launches);
        for (size_t gpu = 0; gpu < sums_.size(); ++gpu)
            for (size_t i = 0; i < sums_[gpu].size(); ++i)
                if (!sums_[gpu][i].empty()) write(run, gpu, names_[i], sums_[gpu][i]);
        for (size_t gpu = 0; gpu < sums_.size(); ++gpu) write_durations(run, gpu);
    }

  private:
    static bool is_kernel(const Call& call) {
        return call.type == OperationClass::compute || call.type == OperationClass::comm;
    }
    // Also those that are known by name only.
    bool is_comm(const Call& call) const {
        return call.type == OperationClass::comm ||
               (call.type == OperationClass::compute &&
                names_[kernel_of(call)].facts.comm_source != CommSource::none);
    }
    size_t gpu_of(const Call& call) const {
        const int32_t gpu = places_[places_.of(call)].gpu;
        return gpu < 0 ? facts_.gpus.size() : static_cast<size_t>(gpu);
    }
    size_t kernel_of(const Call& call) const { return index_.of(call); }
    size_t not_known() const { return index_.not_known(); }

    std::optional<int64_t> multiprocessors(size_t gpu) const {
        return gpu < facts_.gpus.size() ? facts_.gpus[gpu].multiprocessors : std::nullopt;
    }

    // Not of collectives, which are small on purpose.
    void note_grid(size_t gpu, const Call& call, Sums& sums) const {
        const int64_t blocks = index_.blocks_of(call);
        if (blocks == 0 || !multiprocessors(gpu)) {
            ++sums.unknown_grid;
        } else if (blocks < *multiprocessors(gpu)) {
            const int64_t ns = call.times.end_ns - call.times.start_ns;
            ++sums.small_grid;
            sums.small_grid_ns += ns;
            sums.small_grid_filled_ns += static_cast<double>(ns) * static_cast<double>(blocks) /
                                         static_cast<double>(*multiprocessors(gpu));
        }
    }

    void started(size_t gpu, const Ran& ran) {
        if (ran.who == kUncounted) return;
        Sums& sums = sums_[gpu][ran.who];
        sums.union_ns += std::max<int64_t>(0, ran.end_ns - std::max(ran.start_ns, sums.covered_ns));
        sums.covered_ns = std::max(sums.covered_ns, ran.end_ns);
    }

    void ended(size_t gpu, const Ran& ran) {
        if (ran.who == kUncounted) return;
        Sums& sums = sums_[gpu][ran.who];
        const int64_t ran_ns = ran.end_ns - ran.start_ns;
        sums.times.add(ran_ns);
        sums.unsure_ns += ran.unsure_ns;
        const int32_t bucket = bucket_of(ran_ns);
        sums.all.add(ran_ns, bucket);
        sums.small += !ran.is_comm && ran_ns < 2 * latency_ns(gpu);
        if (ran.beside_comm) {
            ++sums.overlapped;
            sums.overlapped_ns += ran_ns;
        } else {
            sums.alone.add(ran_ns, bucket);
        }
    }

    int64_t latency_ns(size_t gpu) const {
        return gpu < facts_.gpus.size() ? facts_.gpus[gpu].idle.latency_ns : 0;
    }

    // Of the whole run, whether the rows are there or not.
    void read_totals() {
        for (auto& of_gpu : sums_)
            for (Sums& sums : of_gpu) sums.launches = 0;
        for (auto& [graph, its] : graphs_) its.count = 0;  // what was in steps, rows tell
        Query launches = facts_.trace->base.prepare(
            "SELECT s.kernel, s.symbol, s.device_id, sum(t.events) FROM v_series s"
            " JOIN v_series_total t ON t.series_id = s.id WHERE s.kind = 'launch' AND s.captured = 0"
            " AND s.failed = 0 AND s.unfinished = 0 GROUP BY 1, 2, 3");
        while (launches.step()) {
            const size_t kernel = kernel_named(launches.text(0), launches.text(1));
            sums_[gpu_of(launches.maybe(2))][kernel].launches += launches.number(3);
        }
        Query graphs = facts_.trace->base.prepare(
            "SELECT s.graph_id, s.device_id, sum(t.events) FROM v_series s"
            " JOIN v_series_total t ON t.series_id = s.id WHERE s.kind = 'graph_launch' AND s.captured = 0"
            " AND s.failed = 0 AND s.unfinished = 0 GROUP BY 1, 2");
        while (graphs.step()) graphs_[{gpu_of(graphs.maybe(1)), graphs.number(0)}].count += graphs.number(2);
    }

    size_t gpu_of(std::optional<int64_t> device_id) const {
        const int32_t gpu = places_.gpu_of_device(device_id);
        return gpu < 0 ? facts_.gpus.size() : static_cast<size_t>(gpu);
    }

    size_t kernel_named(const std::string& name, const std::string& symbol) {
        if (is_blank(name)) return not_known();
        auto found = by_name_.find(name);
        if (found == by_name_.end()) found = by_name_.find(symbol);
        if (found != by_name_.end()) return found->second;
        by_name_[name] = names_.size();
        names_.push_back({name, classify(name)});
        for (auto& of_gpu : sums_) of_gpu.resize(names_.size());
        return names_.size() - 1;
    }

    void add_graph(size_t gpu, int64_t graph_id, const GraphLaunches& launches) {
        const auto graph = facts_.graphs.find(graph_id);
        if (graph == facts_.graphs.end()) return;
        int64_t named = 0;
        for (const auto& [kernel, times] : graph->second.by_kernel) {
            const size_t known = kernel < 0 ? not_known() : static_cast<size_t>(kernel);
            sums_[gpu][known].add_nodes(launches, times);
            named += times;
        }
        if (graph->second.kernels > named)
            sums_[gpu][not_known()].add_nodes(launches, graph->second.kernels - named);
    }

    int64_t gpu_id_of(size_t gpu) const {
        return gpu < facts_.gpus.size() ? facts_.gpus[gpu].gpu_id : kNotTold;
    }

    // Of all kernels of a GPU together; a stream is none of theirs.
    void write_durations(RunDb& run, size_t gpu) const {
        Histogram all;
        for (const Sums& sums : sums_[gpu]) all.add(sums.all);
        all.write(run, "kernel", gpu_id_of(gpu), kNotTold);
    }

    void write(RunDb& run, size_t gpu, const Kernel& kernel, const Sums& s) const {
        const KernelClass& facts = kernel.facts;
        const bool ran = s.times.count > 0;
        const auto if_ran = [&](auto value) { return ran ? Value(value) : Value(nullptr); };
        const auto text = [](std::string_view word) { return std::string(word); };
        const std::optional<int64_t> alone_ns = s.alone.value(0.5);
        const bool grids_known = ran && s.unknown_grid == 0;
        const bool are_steps_known = !facts_.are_slices;
        const auto if_in_steps = [&](int64_t value) {
            return are_steps_known ? Value(value) : Value(nullptr);
        };
        run.add("kernel", {gpu_id_of(gpu),
                           kernel.name,
                           s.launches,
                           s.graph_launches,
                           s.times.count,
                           s.times.sum,
                           s.union_ns,
                           if_ran(s.times.min),
                           if_ran(s.times.max),
                           ran && latency_ns(gpu) > 0 ? Value(s.small) : Value(nullptr),
                           grids_known ? Value(s.small_grid) : Value(nullptr),
                           grids_known ? Value(s.small_grid_ns) : Value(nullptr),
                           s.overlapped,
                           s.overlapped_ns,
                           s.alone_count(),
                           s.alone_ns(),
                           text(name_of(facts.family)),
                           text(name_of(facts.precision)),
                           text(facts.mixed),
                           text(name_of(facts.tensor_core)),
                           int64_t{facts.eligible()},
                           text(name_of(facts.alignment)),
                           text(name_of(facts.library)),
                           text(name_of(facts.comm_operation)),
                           text(name_of(facts.comm_source)),
                           maybe(s.all.value(0.5)),
                           if_ran(s.times.squares),
                           maybe(alone_ns),
                           alone_ns && facts.comm_source == CommSource::none
                               ? Value(s.overlapped_ns - s.overlapped * *alone_ns)
                               : Value(nullptr),
                           s.invalid,
                           s.unsure_ns,
                           grids_known ? Value(s.small_grid_filled_ns) : Value(nullptr),
                           if_in_steps(s.in_steps),
                           if_in_steps(s.timed_in_steps),
                           if_in_steps(s.in_steps_ns)});
    }

    const TraceFacts& facts_;
    int64_t last_ns_ = INT64_MIN, counted_until_ns_ = INT64_MIN;  // calls, in pieces before this one
    const Places places_;
    std::vector<Kernel> names_;  // those of the trace, the one not known, others of its totals
    std::map<std::string, size_t, std::less<>> by_name_;
    const KernelIndex index_;
    std::vector<std::vector<Sums>> sums_;                         // by GPU and name
    std::vector<Concurrency> beside_;                             // by GPU
    std::map<std::pair<size_t, int64_t>, GraphLaunches> graphs_;  // by GPU and graph
};

const PartRegistration kKernelPart(make_kernel_part);

}  // namespace

std::unique_ptr<Part> make_kernel_part(const TraceFacts& facts) {
    return std::make_unique<KernelPart>(facts);
}

}  // namespace gpushim::analysis
