#include "expected.h"

#include <algorithm>
#include <vector>

#include "../to_int64.h"

namespace gpushim::analysis {

namespace {

constexpr int64_t kBigBytes = 32 << 20;     // from here on bandwidth alone counts
constexpr int64_t kSmallBytes = 256 << 10;  // below, latency alone
constexpr size_t kFewestInstances = 20;
constexpr double kMostSpread = 0.30;
constexpr double kNearlyOnce = 0.10;  // small buffers and the loss are reduced, too
constexpr double kNearlyTwice = 1.8;

constexpr std::string_view kModels[] = {"ring", "tree", "nvls", "two_level"};  // as ExpectedModel

// Per link or lane and direction, with the line code taken off: 128b/130b from PCIe 3 on, flits in PCIe 6.
struct LineRate {
    int generation;
    double gb_per_s;
};
constexpr LineRate kNvlink[] = {{1, 20}, {2, 25}, {3, 25}, {4, 25}, {5, 50}};
constexpr LineRate kPcie[] = {{1, 0.25}, {2, 0.5}, {3, 0.985}, {4, 1.969}, {5, 3.938}, {6, 7.563}};

std::optional<double> rate_of(std::span<const LineRate> table, int generation, int count) {
    for (const LineRate& row : table)
        if (row.generation == generation && count > 0) return row.gb_per_s * count;
    return {};
}

int64_t time_ns(double bytes, double gb_per_s) { return to_int64(bytes / gb_per_s); }

// By nearest rank, of sorted ones.
template <class T>
T percentile(const std::vector<T>& sorted, size_t hundredths) {
    return sorted[std::max<size_t>(1, (sorted.size() * hundredths + 99) / 100) - 1];
}

double share_moved(int64_t ranks) {
    return ranks <= 1 ? 0 : static_cast<double>(ranks - 1) / static_cast<double>(ranks);
}

ParameterSync sync_of(double ratio) {
    if (ratio == 0) return ParameterSync::none;
    if (ratio < 1 - kNearlyOnce) return ParameterSync::less;
    if (ratio <= 1 + kNearlyOnce) return ParameterSync::once;
    return ratio < kNearlyTwice ? ParameterSync::more : ParameterSync::redundant;
}

double gradient_bytes(const StepVolume& step) {
    switch (step.of_gradients()) {
        case CollectiveOp::reduce_scatter:
            return step.reduce_scatter_bytes;
        case CollectiveOp::all_gather:
            return step.all_gather_bytes;
        default:
            return step.allreduce_bytes;
    }
}

}  // namespace

std::optional<double> measured_bandwidth(std::span<const Reached> of_communicator) {
    std::vector<double> big;
    for (const Reached& one : of_communicator)
        if (one.bytes >= kBigBytes) big.push_back(one.busbw_gb_per_s);
    if (big.empty()) return {};
    std::sort(big.begin(), big.end(), std::greater<>());
    return percentile(big, 10);
}

std::optional<double> nvlink_gb_per_s(int generation, int links) {
    return rate_of(kNvlink, generation, links);
}

std::optional<double> pcie_gb_per_s(int generation, int lanes) { return rate_of(kPcie, generation, lanes); }

std::optional<Bandwidth> choose_bandwidth(std::optional<double> given, std::optional<double> measured,
                                          std::optional<double> topology) {
    if (given && *given > 0) return Bandwidth{*given, BandwidthSource::given};
    if (measured && *measured > 0) return Bandwidth{*measured, BandwidthSource::measured};
    if (topology && *topology > 0) return Bandwidth{*topology, BandwidthSource::topology};
    return {};
}

int64_t expected_simple_ns(int64_t bytes, int64_t ranks, double gb_per_s) {
    return ranks <= 1 ? 0 : time_ns(static_cast<double>(bytes), gb_per_s);
}

int64_t expected_ring_ns(CollectiveOp op, int64_t whole_bytes, int64_t ranks, double gb_per_s,
                         double latency_ns) {
    if (ranks <= 1) return 0;
    const auto rounds = static_cast<double>(facts_of(op).ring_rounds * (ranks - 1));
    return to_int64(bus_factor(op, ranks) * static_cast<double>(whole_bytes) / gb_per_s +
                    rounds * latency_ns);
}

int64_t expected_nvls_ns(int64_t bytes, int64_t ranks, double gb_per_s) {
    if (ranks <= 1) return 0;
    return time_ns(static_cast<double>(bytes) * static_cast<double>(ranks + 1) / static_cast<double>(ranks),
                   gb_per_s);
}

int64_t expected_tree_ns(int64_t bytes, int64_t ranks, double gb_per_s) {
    return ranks <= 1 ? 0 : time_ns(2.0 * static_cast<double>(bytes), gb_per_s);
}

int64_t expected_two_level_ns(int64_t bytes, const TwoLevels& levels) {
    const auto all = static_cast<double>(bytes);
    const int64_t node_ns = time_ns(2 * share_moved(levels.ranks_per_node) * all, levels.node_gb_per_s);
    // Each rail carries its part of the array between the nodes.
    const int64_t rail_ns = time_ns(2 * share_moved(levels.nodes) * all / static_cast<double>(levels.rails),
                                    levels.rail_gb_per_s);
    return std::max(node_ns, rail_ns);
}

std::string_view name_of(ExpectedModel model) { return kModels[static_cast<size_t>(model)]; }

std::optional<ExpectedModel> expected_model(std::string_view name) {
    for (size_t i = 0; i < std::size(kModels); ++i)
        if (kModels[i] == name) return static_cast<ExpectedModel>(i);
    return {};
}

int64_t expected_ns(CollectiveOp op, int64_t whole_bytes, int64_t ranks, const ExpectedBy& by) {
    switch (by.model) {
        case ExpectedModel::tree:
            return expected_tree_ns(whole_bytes, ranks, by.gb_per_s);
        case ExpectedModel::nvls:
            return expected_nvls_ns(whole_bytes, ranks, by.gb_per_s);
        case ExpectedModel::two_level:
            return expected_two_level_ns(whole_bytes,
                                         {by.hosts, ranks / by.hosts, 1, by.gb_per_s, by.between_gb_per_s});
        default:
            return expected_ring_ns(op, whole_bytes, ranks, by.gb_per_s, by.latency_ns);
    }
}

std::optional<Rates> rates(CollectiveOp op, int64_t whole_bytes, int64_t ranks, int64_t transfer_ns,
                           int64_t longest_own_ns) {
    if (ranks <= 1 || whole_bytes <= 0 || transfer_ns <= 0) return {};
    const double factor = bus_factor(op, ranks);
    const auto bytes = static_cast<double>(whole_bytes);
    const double algbw = bytes / static_cast<double>(transfer_ns);
    return Rates{algbw, algbw * factor,
                 bytes * factor / static_cast<double>(std::max(transfer_ns, longest_own_ns))};
}

CollectiveEfficiency efficiency(int64_t bytes, Expectation expected, std::span<const int64_t> transfers_ns) {
    if (transfers_ns.size() < kFewestInstances) return {EfficiencyBy::few_instances, {}};
    std::vector<int64_t> sorted(transfers_ns.begin(), transfers_ns.end());
    std::sort(sorted.begin(), sorted.end());
    const auto median = static_cast<double>(percentile(sorted, 50));
    const auto between = static_cast<double>(percentile(sorted, 90) - percentile(sorted, 10));
    if (median <= 0 || between >= kMostSpread * median) return {EfficiencyBy::spread, {}};
    const bool small = bytes < kSmallBytes;
    const int64_t expected_ns = small ? expected.by_latency_ns : expected.by_bandwidth_ns;
    if (expected_ns <= 0) return {EfficiencyBy::nothing_expected, {}};
    return {small ? EfficiencyBy::latency : EfficiencyBy::bandwidth,
            static_cast<double>(expected_ns) / median};
}

CollectiveOp StepVolume::of_gradients() const {
    if (!is_sharded()) return CollectiveOp::all_reduce;
    return reduce_scatter_bytes > 0 ? CollectiveOp::reduce_scatter : CollectiveOp::all_gather;
}

ParameterCheck check_parameters(const StepVolume& step, std::optional<int64_t> parameters,
                                int64_t bytes_per_parameter, int64_t ranks) {
    const double scattered = step.reduce_scatter_bytes + step.all_gather_bytes;
    ParameterCheck check = {};
    check.sharded = step.is_sharded();
    const double as_allreduce = check.sharded ? scattered / 2 : step.allreduce_bytes;
    check.implied_parameters = gradient_bytes(step) / static_cast<double>(bytes_per_parameter);
    check.wire_bytes = 2 * share_moved(ranks) * as_allreduce;
    if (!parameters || *parameters <= 0) return check;
    check.ratio = check.implied_parameters / static_cast<double>(*parameters);
    check.sync = sync_of(*check.ratio);
    check.expected_wire_bytes =
        2 * share_moved(ranks) * static_cast<double>(*parameters * bytes_per_parameter);
    return check;
}

}  // namespace gpushim::analysis
