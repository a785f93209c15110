// Do the GPUs start together, run together, and carry the same load?
//
//   GPU 0   ├L███████████              first launches L at 0 and 6: stagger 6, of which GPU 1 idled 6
//   GPU 1   ├──────L████████████       together: union 18, sum 11 + 12, longest 12
//                                      sequential index (18 - 12) / (23 - 12) = 0.55
//
// Times are of one clock, or aligned and with the bound of that. Pure; any thread.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "../interval/interval.h"

namespace gpushim::analysis {

struct GpuStart {
    int64_t first_launch_ns;  // in this step
    Intervals idle;           // in this step or more
};
struct Stagger {
    int64_t stagger_ns;
    double share_of_step;
    std::vector<int64_t> idle_ns;  // by GPU: idle from the first launch of all to its own
    std::vector<int> order;        // GPUs by first launch
};
// None: fewer than two GPUs, a step of no length, or a stagger below what the clocks may be off.
std::optional<Stagger> stagger_of(std::span<const GpuStart> gpus, int64_t step_ns,
                                  int64_t clock_error_ns = 0);
// Share of the steps that had the most frequent order; none: no steps.
std::optional<double> order_stability(std::span<const Stagger> steps);
// How often a thread changed the device, from the devices of its launches in order.
int64_t device_switches(std::span<const int64_t> device_of_launch);

// 1: one after another at all times; as many as there are GPUs: all together. None: nothing ran.
std::optional<double> concurrency(std::span<const int64_t> busy_ns, int64_t union_ns);
// 0: as much together as their loads allow, 1: strictly one after another. None: fewer than two were active.
std::optional<double> sequential_index(std::span<const int64_t> busy_ns, int64_t union_ns);
constexpr double kSequential = 0.8;  // above: name what makes them wait for each other

// Of productive compute time: max / mean - 1. None: no load.
std::optional<double> imbalance(std::span<const int64_t> load_ns);
// Of own work in a step (its time without waiting for peers): (max - median) / median.
std::optional<double> step_skew(std::span<const int64_t> own_work_ns);

// The first GPU does what the others do and more, and something that they do not do at all.
struct FirstGpu {
    double excess;                      // over the median of the others, as a share
    std::vector<int64_t> only_kernels;  // ids
    int64_t p2p_bytes;                  // to and from it; 0 where the others have such traffic, too
};
struct GpuLoad {
    int64_t load_ns;
    std::vector<int64_t> kernels;  // ids, sorted
};
std::optional<FirstGpu> first_gpu(std::span<const GpuLoad> gpus, int64_t p2p_bytes_with_first,
                                  int64_t p2p_bytes_among_others);

}  // namespace gpushim::analysis
