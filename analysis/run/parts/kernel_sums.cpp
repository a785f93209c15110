#include "kernel_sums.h"

#include <algorithm>

#include "../../text/names.h"
#include "../sql/run_db.h"

namespace gpushim::analysis {

namespace {

constexpr const char* kNameNotKnown = "(name not known)";

}  // namespace

KernelSums::KernelSums(const TraceFacts& facts, const Places& places)
    : facts_(facts),
      places_(places),
      names_(facts.kernels),
      index_(facts),
      steps_seen_(facts),
      steps_taken_(facts),
      gpus_(facts.gpus.size() + 1) {
    names_.push_back({kNameNotKnown, {}});
    for (const Kernel& kernel : names_) is_comm_.push_back(kernel.facts.comm_source != CommSource::none);
    for (size_t i = 0; i < names_.size(); ++i) by_name_.try_emplace(names_[i].name, i);
    for (KernelsOfGpu& gpu : gpus_) gpu.sums.resize(names_.size());
    for (size_t i = 0; i < facts.gpus.size(); ++i) {  // the last is the one that is not known
        gpus_[i].small_below_ns = 2 * facts.gpus[i].idle.latency_ns;
        gpus_[i].multiprocessors = facts.gpus[i].multiprocessors;
    }
}

void KernelSums::see_graph(const Call& call, size_t gpu, bool is_in_step) {
    GraphLaunches& launches = graphs_[{gpu, call.detail}];
    ++launches.count;
    launches.in_steps += is_in_step;
}

void KernelSums::finish(RunDb& run) {
    if (has_totals(*facts_.trace)) read_totals();
    for (const auto& [graph, launches] : graphs_) add_graph(graph.first, graph.second, launches);
    for (size_t gpu = 0; gpu < gpus_.size(); ++gpu)
        for (size_t i = 0; i < names_.size(); ++i)
            if (const KernelFigures& sums = gpus_[gpu].sums[i]; !sums.empty())
                write(run, gpu, names_[i], sums);
    for (size_t gpu = 0; gpu < gpus_.size(); ++gpu) write_durations(run, gpu);
}

// Of the whole run, whether the rows are there or not.
void KernelSums::read_totals() {
    for (KernelsOfGpu& gpu : gpus_)
        for (KernelFigures& sums : gpu.sums) sums.launches = 0;
    for (auto& [graph, its] : graphs_) its.count = 0;  // what was in steps, rows tell
    Query launches = facts_.trace->base.prepare(
        "SELECT s.kernel, s.symbol, s.device_id, sum(t.events) FROM v_series s"
        " JOIN v_series_total t ON t.series_id = s.id WHERE s.kind = 'launch' AND s.captured = 0"
        " AND s.failed = 0 AND s.unfinished = 0 GROUP BY 1, 2, 3");
    while (launches.step()) {
        const size_t kernel = kernel_named(launches.text(0), launches.text(1));
        gpus_[gpu_of(launches.maybe(2))].sums[kernel].launches += launches.number(3);
    }
    Query graphs = facts_.trace->base.prepare(
        "SELECT s.graph_id, s.device_id, sum(t.events) FROM v_series s"
        " JOIN v_series_total t ON t.series_id = s.id WHERE s.kind = 'graph_launch' AND s.captured = 0"
        " AND s.failed = 0 AND s.unfinished = 0 GROUP BY 1, 2");
    while (graphs.step()) graphs_[{gpu_of(graphs.maybe(1)), graphs.number(0)}].count += graphs.number(2);
}

size_t KernelSums::gpu_of(std::optional<int64_t> device_id) const {
    const int32_t gpu = places_.gpu_of_device(device_id);
    return gpu < 0 ? facts_.gpus.size() : static_cast<size_t>(gpu);
}

size_t KernelSums::kernel_named(const std::string& name, const std::string& symbol) {
    if (is_blank(name)) return not_known();
    auto found = by_name_.find(name);
    if (found == by_name_.end()) found = by_name_.find(symbol);
    if (found != by_name_.end()) return found->second;
    by_name_[name] = names_.size();
    names_.push_back({name, classify(name)});
    for (KernelsOfGpu& gpu : gpus_) gpu.sums.resize(names_.size());
    return names_.size() - 1;
}

void KernelSums::add_graph(size_t gpu, int64_t graph_id, const GraphLaunches& launches) {
    const auto graph = facts_.graphs.find(graph_id);
    if (graph == facts_.graphs.end()) return;
    int64_t named = 0;
    for (const auto& [kernel, times] : graph->second.by_kernel) {
        const size_t known = kernel < 0 ? not_known() : static_cast<size_t>(kernel);
        gpus_[gpu].sums[known].add_nodes(launches, times);
        named += times;
    }
    if (graph->second.kernels > named)
        gpus_[gpu].sums[not_known()].add_nodes(launches, graph->second.kernels - named);
}

int64_t KernelSums::gpu_id_of(size_t gpu) const {
    return gpu < facts_.gpus.size() ? facts_.gpus[gpu].gpu_id : kNotTold;
}

// Of all kernels of a GPU together; a stream is none of theirs.
void KernelSums::write_durations(RunDb& run, size_t gpu) const {
    Histogram all;
    for (const KernelFigures& sums : gpus_[gpu].sums) all.add(sums.all());
    all.write(run, "kernel", gpu_id_of(gpu), kNotTold);
}

void KernelSums::write(RunDb& run, size_t gpu, const Kernel& kernel, const KernelFigures& s) const {
    const KernelClass& facts = kernel.facts;
    const bool ran = s.times.count > 0;
    const auto if_ran = [&](auto value) { return ran ? Value(value) : Value(nullptr); };
    const auto text = [](std::string_view word) { return std::string(word); };
    const std::optional<int64_t> alone_ns = s.alone.value(0.5);
    const bool grids_known = ran && s.unknown_grid == 0;
    const bool are_steps_known = !facts_.are_slices;
    const auto if_in_steps = [&](int64_t value) { return are_steps_known ? Value(value) : Value(nullptr); };
    run.add("kernel", {gpu_id_of(gpu),
                       kernel.name,
                       s.launches,
                       s.graph_launches,
                       s.times.count,
                       s.times.sum,
                       s.union_ns,
                       if_ran(s.times.min),
                       if_ran(s.times.max),
                       ran && gpus_[gpu].small_below_ns > 0 ? Value(s.small) : Value(nullptr),
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
                       maybe(s.all().value(0.5)),
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

}  // namespace gpushim::analysis
