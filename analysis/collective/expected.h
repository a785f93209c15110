// What a collective should take, what it reached, and whether what was moved fits the model's parameters.
// Bandwidths are decimal: 1 GB/s is one byte per nanosecond. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "operation.h"

namespace gpushim::analysis {

enum class BandwidthSource : uint8_t { given, measured, topology };
struct Bandwidth {
    double gb_per_s;
    BandwidthSource source;
};

// The best decile of what big messages of one communicator reached; none: there were no big ones.
struct Reached {
    int64_t bytes;  // S
    double busbw_gb_per_s;
};
std::optional<double> measured_bandwidth(std::span<const Reached> of_communicator);
// Line rates, one direction, all links together; none: a generation that is not in the table.
std::optional<double> nvlink_gb_per_s(int generation, int links);
std::optional<double> pcie_gb_per_s(int generation, int lanes);
// Given by the user, else measured, else by topology.
std::optional<Bandwidth> choose_bandwidth(std::optional<double> given, std::optional<double> measured,
                                          std::optional<double> topology);

// Expected times. All of them: one rank has nothing to move, 0.
int64_t expected_simple_ns(int64_t bytes, int64_t ranks, double gb_per_s);
int64_t expected_ring_ns(CollectiveOp op, int64_t whole_bytes, int64_t ranks, double gb_per_s,
                         double latency_ns);
// AllReduce only: in the switches of one node; by a tree; in each node and then over the rails between them.
int64_t expected_nvls_ns(int64_t bytes, int64_t ranks, double gb_per_s);
int64_t expected_tree_ns(int64_t bytes, int64_t ranks, double gb_per_s);
struct TwoLevels {
    int64_t nodes, ranks_per_node, rails;
    double node_gb_per_s, rail_gb_per_s;
};
int64_t expected_two_level_ns(int64_t bytes, const TwoLevels& levels);

enum class ExpectedModel : uint8_t { ring, tree, nvls, two_level };
std::string_view name_of(ExpectedModel model);
std::optional<ExpectedModel> expected_model(std::string_view name);
// Two levels: the ranks lie on `hosts` hosts, as many on each, and `between` is what the links of one of them
// carry together.
struct ExpectedBy {
    ExpectedModel model = ExpectedModel::ring;
    double gb_per_s = 0, latency_ns = 0;
    int64_t hosts = 1;
    double between_gb_per_s = 0;
};
int64_t expected_ns(CollectiveOp op, int64_t whole_bytes, int64_t ranks, const ExpectedBy& by);

struct Rates {
    double algbw_gb_per_s, busbw_gb_per_s;
    double busbw_incl_wait_gb_per_s;  // over the longest own duration: from the first to come to the end
};
// None: one rank, nothing moved, or no time.
std::optional<Rates> rates(CollectiveOp op, int64_t whole_bytes, int64_t ranks, int64_t transfer_ns,
                           int64_t longest_own_ns);

// How near a kind of instances came to what was expected. Small messages are judged by their latency: what
// was expected for them is the rounds' latency alone. Spread: between the 10th and the 90th percentile, as a
// share of the median.
enum class EfficiencyBy : uint8_t { bandwidth, latency, few_instances, spread, nothing_expected };
struct CollectiveEfficiency {
    EfficiencyBy by;
    std::optional<double> share;  // expected / median transfer; none: `by` says why
};
struct Expectation {
    int64_t by_bandwidth_ns, by_latency_ns;
};
CollectiveEfficiency efficiency(int64_t bytes, Expectation expected, std::span<const int64_t> transfers_ns);

// Bytes of one step against the parameters. Sharded training has no AllReduce of gradients: ReduceScatter
// should move them once, and together with one AllGather of the parameters it moves what an AllReduce would.
struct StepVolume {
    double allreduce_bytes, reduce_scatter_bytes, all_gather_bytes;  // S, replays counted

    // A sharded run still reduces a norm or a loss.
    bool is_sharded() const { return reduce_scatter_bytes + all_gather_bytes > allreduce_bytes; }
    // The operation that moves each parameter's gradient once. Parameters may be gathered twice: for the
    // forward pass, and again for the backward pass.
    CollectiveOp of_gradients() const;
};
enum class ParameterSync : uint8_t {
    none,  // nothing was reduced
    less,  // frozen or unused parameters, or gradients are accumulated
    once,
    more,
    redundant  // twice or more
};
struct ParameterCheck {
    bool sharded;
    double implied_parameters;    // by the gradients
    std::optional<double> ratio;  // of these to the parameters; none: they are not given
    std::optional<ParameterSync> sync;
    double wire_bytes;  // per rank and step, as a ring sends them
    std::optional<double> expected_wire_bytes;
};
ParameterCheck check_parameters(const StepVolume& step, std::optional<int64_t> parameters,
                                int64_t bytes_per_parameter, int64_t ranks);

}  // namespace gpushim::analysis
