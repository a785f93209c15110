#include "stagger.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace gpushim::analysis {

namespace {

constexpr double kFirstGpuExcess = 0.10;

struct Loads {
    int64_t sum_ns = 0, max_ns = 0, active = 0;
};
Loads loads_of(std::span<const int64_t> all_ns) {
    Loads loads;
    for (const int64_t one_ns : all_ns) {
        loads.sum_ns += one_ns;
        loads.max_ns = std::max(loads.max_ns, one_ns);
        loads.active += one_ns > 0;
    }
    return loads;
}

double median_length(std::vector<int64_t> values) {
    std::sort(values.begin(), values.end());
    const size_t n = values.size();
    return (static_cast<double>(values[(n - 1) / 2]) + static_cast<double>(values[n / 2])) / 2;
}

std::vector<int64_t> only_on_first(std::span<const GpuLoad> gpus) {
    std::vector<int64_t> others, only;
    for (const GpuLoad& gpu : gpus.subspan(1))
        others.insert(others.end(), gpu.kernels.begin(), gpu.kernels.end());
    std::sort(others.begin(), others.end());
    std::set_difference(gpus[0].kernels.begin(), gpus[0].kernels.end(), others.begin(), others.end(),
                        std::back_inserter(only));
    return only;
}

// At least half of the kernels of each other one: else it runs another model, or another part of one.
bool runs_what_others_run(std::span<const GpuLoad> gpus) {
    const std::vector<int64_t>& own = gpus[0].kernels;
    return std::all_of(gpus.begin() + 1, gpus.end(), [&](const GpuLoad& other) {
        const auto common = std::count_if(other.kernels.begin(), other.kernels.end(), [&](int64_t kernel) {
            return std::binary_search(own.begin(), own.end(), kernel);
        });
        return 2 * static_cast<size_t>(common) >= other.kernels.size();
    });
}

}  // namespace

std::optional<Stagger> stagger_of(std::span<const GpuStart> gpus, int64_t step_ns, int64_t clock_error_ns) {
    if (gpus.size() < 2 || step_ns <= 0) return {};
    Stagger stagger;
    stagger.order.resize(gpus.size());
    std::iota(stagger.order.begin(), stagger.order.end(), 0);
    const auto first_of = [&](int gpu) { return gpus[static_cast<size_t>(gpu)].first_launch_ns; };
    std::stable_sort(stagger.order.begin(), stagger.order.end(),
                     [&](int a, int b) { return first_of(a) < first_of(b); });
    const int64_t first_ns = first_of(stagger.order.front());
    stagger.stagger_ns = first_of(stagger.order.back()) - first_ns;
    if (stagger.stagger_ns < clock_error_ns) return {};
    stagger.share_of_step = static_cast<double>(stagger.stagger_ns) / static_cast<double>(step_ns);
    for (const GpuStart& gpu : gpus)
        stagger.idle_ns.push_back(length_ns(clip(gpu.idle, {first_ns, gpu.first_launch_ns})));
    return stagger;
}

std::optional<double> order_stability(std::span<const Stagger> steps) {
    if (steps.empty()) return {};
    std::map<std::vector<int>, int64_t> orders;
    int64_t most = 0;
    for (const Stagger& step : steps) most = std::max(most, ++orders[step.order]);
    return static_cast<double>(most) / static_cast<double>(steps.size());
}

int64_t device_switches(std::span<const int64_t> device_of_launch) {
    int64_t switches = 0;
    for (size_t i = 1; i < device_of_launch.size(); ++i)
        switches += device_of_launch[i] != device_of_launch[i - 1];
    return switches;
}

std::optional<double> concurrency(std::span<const int64_t> busy_ns, int64_t union_ns) {
    if (union_ns <= 0) return {};
    return static_cast<double>(loads_of(busy_ns).sum_ns) / static_cast<double>(union_ns);
}

std::optional<double> sequential_index(std::span<const int64_t> busy_ns, int64_t union_ns) {
    const Loads loads = loads_of(busy_ns);
    if (loads.active < 2) return {};
    return static_cast<double>(union_ns - loads.max_ns) / static_cast<double>(loads.sum_ns - loads.max_ns);
}

std::optional<double> imbalance(std::span<const int64_t> load_ns) {
    const Loads loads = loads_of(load_ns);
    if (loads.sum_ns <= 0) return {};
    return static_cast<double>(loads.max_ns) * static_cast<double>(load_ns.size()) /
               static_cast<double>(loads.sum_ns) -
           1;
}

std::optional<double> step_skew(std::span<const int64_t> own_work_ns) {
    if (own_work_ns.empty()) return {};
    const double median = median_length({own_work_ns.begin(), own_work_ns.end()});
    if (median <= 0) return {};
    const int64_t largest = *std::max_element(own_work_ns.begin(), own_work_ns.end());
    return (static_cast<double>(largest) - median) / median;
}

std::optional<FirstGpu> first_gpu(std::span<const GpuLoad> gpus, int64_t p2p_bytes_with_first,
                                  int64_t p2p_bytes_among_others) {
    if (gpus.size() < 2) return {};
    std::vector<int64_t> others_ns;
    for (const GpuLoad& gpu : gpus.subspan(1)) others_ns.push_back(gpu.load_ns);
    const double median = median_length(std::move(others_ns));
    if (median <= 0) return {};
    FirstGpu found = {static_cast<double>(gpus[0].load_ns) / median - 1, only_on_first(gpus),
                      p2p_bytes_among_others == 0 ? p2p_bytes_with_first : 0};
    const bool does_more = static_cast<double>(gpus[0].load_ns) > (1 + kFirstGpuExcess) * median;
    const bool does_other = !found.only_kernels.empty() || found.p2p_bytes > 0;
    return does_more && does_other && runs_what_others_run(gpus) ? std::optional(found) : std::nullopt;
}

}  // namespace gpushim::analysis
