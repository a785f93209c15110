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

class KernelSums {
  public:
    KernelSums(const TraceFacts& facts, const Places& places);

    // `gpu`: index into facts.gpus; the one behind the last: not known.
    void see(const Call& operation, size_t gpu) {
        const bool is_in_step = steps_seen_.has(operation);
        if (is_kernel(operation)) {
            Sums& sums = gpus_[gpu].sums[index_.of(operation)];
            ++sums.launches;
            sums.in_steps += is_in_step;
        } else if (operation.type == OperationClass::graph) {
            see_graph(operation, gpu, is_in_step);
        }
    }
    // One with device times: of a kernel, says in `ran` whether it is a collective's, and which it is, if it
    // counts, and does as `started` and `ended` will say.
    void take(const Call& operation, size_t gpu, bool before, Ran& ran) {
        last_ns_ = std::max(last_ns_, operation.enter_ns);
        if (is_kernel(operation)) take_kernel(operation, gpu, before, ran);
    }
    void started(size_t gpu, const Ran& kernel) {
        Sums& sums = gpus_[gpu].sums[kernel.who];
        sums.union_ns += std::max<int64_t>(0, kernel.end_ns - std::max(kernel.start_ns, sums.covered_ns));
        sums.covered_ns = std::max(sums.covered_ns, kernel.end_ns);
    }
    void ended(size_t gpu, const Ran& kernel);
    void end_piece() { counted_until_ns_ = last_ns_; }
    void finish(RunDb& run);

  private:
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
    static bool is_kernel(const Call& call) {
        return call.type == OperationClass::compute || call.type == OperationClass::comm;
    }
    struct OfGpu {
        std::vector<Sums> sums;      // by name
        int64_t small_below_ns = 0;  // two latencies
        std::optional<int64_t> multiprocessors;
    };
    size_t not_known() const { return index_.not_known(); }
    void see_graph(const Call& call, size_t gpu, bool is_in_step);
    void take_kernel(const Call& call, size_t gpu, bool before, Ran& ran);
    void read_totals();
    size_t gpu_of(std::optional<int64_t> device_id) const;
    size_t kernel_named(const std::string& name, const std::string& symbol);
    void add_graph(size_t gpu, int64_t graph_id, const GraphLaunches& launches);
    int64_t gpu_id_of(size_t gpu) const;
    void write_durations(RunDb& run, size_t gpu) const;
    void write(RunDb& run, size_t gpu, const Kernel& kernel, const Sums& sums) const;

    const TraceFacts& facts_;
    const Places& places_;
    int64_t last_ns_ = INT64_MIN, counted_until_ns_ = INT64_MIN;  // calls, in pieces before this one
    std::vector<Kernel> names_;  // those of the trace, the one not known, others of its totals
    std::map<std::string, size_t, std::less<>> by_name_;
    const KernelIndex index_;
    KnownSteps steps_seen_, steps_taken_;
    std::vector<OfGpu> gpus_;
    std::map<std::pair<size_t, int64_t>, GraphLaunches> graphs_;  // by GPU and graph
};

}  // namespace gpushim::analysis
