// Kernels by name and GPU: how often in the whole run, by themselves and in graphs; how long in pieces, and
// what running beside a collective did to that.
//
//   name a    ███1███    ███2███           sum: 1 + 2 + 3
//             ███3███                      union: 1 and 2
//   comm                  █████████        overlapped: 2; alone: 1 and 3
//
// Of the calls that its part (operation_part.cpp) is given. One thread.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../pass/kernel_index.h"
#include "../pass/part.h"
#include "../sql/histogram.h"
#include "concurrency.h"
#include "known_steps.h"
#include "places.h"

namespace gpushim::analysis {

struct GraphLaunches {
    int64_t count = 0, in_steps = 0;
};

struct KernelFigures {  // of a name on a GPU
    int64_t launches = 0, graph_launches = 0, invalid = 0;
    int64_t in_steps = 0, timed_in_steps = 0, in_steps_ns = 0;  // in_steps: in graphs, too
    Moments times;
    int64_t union_ns = 0, covered_ns = INT64_MIN, unsure_ns = 0;
    int64_t small = 0, overlapped = 0, overlapped_ns = 0;
    int64_t small_grid = 0, small_grid_ns = 0, unknown_grid = 0;
    double small_grid_filled_ns = 0;
    Histogram beside, alone;  // of collectives

    Histogram all() const {
        Histogram both = alone;
        both.add(beside);
        return both;
    }
    int64_t alone_ns() const { return times.sum - overlapped_ns; }
    int64_t alone_count() const { return times.count - overlapped; }
    // Not of collectives, which are small on purpose.
    void add_grid(int64_t blocks, std::optional<int64_t> multiprocessors, int64_t ran_ns) {
        if (blocks == 0 || !multiprocessors) {
            ++unknown_grid;
        } else if (blocks < *multiprocessors) {
            ++small_grid;
            small_grid_ns += ran_ns;
            small_grid_filled_ns += static_cast<double>(ran_ns) * static_cast<double>(blocks) /
                                    static_cast<double>(*multiprocessors);
        }
    }
    // A graph has so many nodes that run it.
    void add_nodes(const GraphLaunches& graph, int64_t nodes) {
        graph_launches += graph.count * nodes;
        in_steps += graph.in_steps * nodes;
    }
    bool empty() const { return launches + graph_launches + times.count + invalid == 0; }
};

struct KernelsOfGpu {
    std::vector<KernelFigures> sums;  // by name
    int64_t small_below_ns = 0;       // two latencies
    std::optional<int64_t> multiprocessors;

    // Kernels that count, by their number among the names.
    void started(const Ran& kernel) {
        KernelFigures& its = sums[kernel.who];
        its.union_ns += std::max<int64_t>(0, kernel.end_ns - std::max(kernel.start_ns, its.covered_ns));
        its.covered_ns = std::max(its.covered_ns, kernel.end_ns);
    }
    [[gnu::always_inline]] void ended(const Ran& kernel) {
        KernelFigures& its = sums[kernel.who];
        const int64_t ran_ns = kernel.end_ns - kernel.start_ns;
        its.times.add(ran_ns);
        its.unsure_ns += kernel.unsure_ns;
        its.small += !kernel.is_comm && ran_ns < small_below_ns;
        if (kernel.beside_comm) {
            ++its.overlapped;
            its.overlapped_ns += ran_ns;
        }
        (kernel.beside_comm ? its.beside : its.alone).add(ran_ns);
    }
};

class KernelSums {
  public:
    KernelSums(const TraceFacts& facts, const Places& places);

    // `gpu`: index into facts.gpus; the one behind the last: not known.
    void see(const Call& operation, size_t gpu) {
        const bool is_in_step = steps_seen_.has(operation);
        if (is_kernel(operation)) {
            KernelFigures& sums = gpus_[gpu].sums[index_.of(operation)];
            ++sums.launches;
            sums.in_steps += is_in_step;
        } else if (operation.type == OperationClass::graph) {
            see_graph(operation, gpu, is_in_step);
        }
    }
    static bool is_kernel(const Call& operation) {
        return operation.type == OperationClass::compute || operation.type == OperationClass::comm;
    }
    // One with device times. Of a kernel: whether it is a collective's, and which it is, if it counts and
    // does as `started` and `ended` of its GPU will say.
    struct Taken {
        bool is_comm = false, counts = false;
        size_t kernel = 0;
    };
    [[gnu::always_inline]] Taken take(const Call& operation, size_t gpu, bool before) {
        last_ns_ = std::max(last_ns_, operation.enter_ns);
        return is_kernel(operation) ? take_kernel(operation, gpus_[gpu], before) : Taken();
    }
    KernelsOfGpu& of_gpu(size_t gpu) { return gpus_[gpu]; }  // which stays where it is
    void end_piece() { counted_until_ns_ = last_ns_; }
    void finish(RunDb& run);

  private:
    size_t not_known() const { return index_.not_known(); }
    void see_graph(const Call& call, size_t gpu, bool is_in_step);
    Taken take_kernel(const Call& call, KernelsOfGpu& of, bool before);
    void read_totals();
    size_t gpu_of(std::optional<int64_t> device_id) const;
    size_t kernel_named(const std::string& name, const std::string& symbol);
    void add_graph(size_t gpu, int64_t graph_id, const GraphLaunches& launches);
    int64_t gpu_id_of(size_t gpu) const;
    void write_durations(RunDb& run, size_t gpu) const;
    void write(RunDb& run, size_t gpu, const Kernel& kernel, const KernelFigures& sums) const;

    const TraceFacts& facts_;
    const Places& places_;
    int64_t last_ns_ = INT64_MIN, counted_until_ns_ = INT64_MIN;  // calls, in pieces before this one
    std::vector<Kernel> names_;  // those of the trace, the one not known, others of its totals
    std::vector<char> is_comm_;  // those of the trace, and the one not known: by name
    std::map<std::string, size_t, std::less<>> by_name_;
    const KernelIndex index_;
    KnownSteps steps_seen_, steps_taken_;
    std::vector<KernelsOfGpu> gpus_;
    std::map<std::pair<size_t, int64_t>, GraphLaunches> graphs_;  // by GPU and graph
};

[[gnu::always_inline]] inline KernelSums::Taken KernelSums::take_kernel(const Call& call, KernelsOfGpu& of,
                                                                        bool before) {
    const KernelIndex::Launched launched = index_.launched(call);
    // Also those that are known by name only.
    const bool is_comm = call.type == OperationClass::comm || is_comm_[launched.kernel] != 0;
    // A profile may begin with work that was called before the time in which all is known.
    if (before && call.enter_ns <= counted_until_ns_) return {is_comm};
    KernelFigures& sums = of.sums[launched.kernel];
    const int64_t ran_ns = call.times.end_ns - call.times.start_ns;
    if (ran_ns <= 0) {
        ++sums.invalid;
        return {is_comm};
    }
    if (!is_comm) sums.add_grid(launched.blocks, of.multiprocessors, ran_ns);
    if (steps_taken_.has(call)) {
        ++sums.timed_in_steps;
        sums.in_steps_ns += ran_ns;
    }
    return {is_comm, true, launched.kernel};
}

}  // namespace gpushim::analysis
