// Instances that are alike, together: how long they took, what rates that is, and what was to be expected.
#include <algorithm>
#include <numeric>
#include <string>

#include "../sql/run_db.h"
#include "comm_bandwidth.h"

namespace gpushim::analysis {

namespace {

constexpr int64_t kSmallBytes = 256 << 10;                             // below, only the latency counts
constexpr const char* kSources[] = {"given", "measured", "topology"};  // as BandwidthSource
constexpr const char* kEfficiencyBy[] = {"bandwidth", "latency", "few_instances", "spread",
                                         "nothing_expected"};  // as EfficiencyBy

struct KindKey {
    CollectiveOp op;
    int dtype;
    int64_t bytes;
    auto operator<=>(const KindKey&) const = default;
};

struct KindSums {
    int64_t ranks = 0, count = 0, in_steps = 0, complete = 0, whole_bytes = 0, own_sum_ns = 0;
    int64_t by_last_start = 0;
    bool own_known = false;
    int32_t kernel = -1;
    const TraceFacts* facts = nullptr;
    std::vector<int64_t> transfers, waits, spreads, longest;
};

using Kinds = std::map<KindKey, KindSums>;

void take_times(const CollectiveInstance& instance, const InstanceTimes& times, KindSums& kind) {
    int64_t longest_ns = 0;
    for (const RankPart& part : instance.parts)
        if (part.device) {
            kind.own_known = true;
            kind.own_sum_ns += part.device->length_ns();
            longest_ns = std::max(longest_ns, part.device->length_ns());
        }
    for (const auto& wait_ns : times.wait_ns)
        if (wait_ns) kind.waits.push_back(*wait_ns);
    if (!times.transfer_ns) return;
    kind.by_last_start += times.by == TransferBy::last_start;
    kind.transfers.push_back(*times.transfer_ns);
    kind.longest.push_back(longest_ns);
}

void take(const RunCommunicator& comm, const RunClocks& clocks, std::optional<int64_t> error_ns,
          const CollectiveInstance& instance, Kinds& kinds) {
    const RankPart& first = instance.parts.front();
    const CommCall& call = comm.call(first);
    const TraceFacts& facts = *comm.seat(first).facts;
    KindSums& kind = kinds[{instance.op, call.dtype, instance.bytes}];
    kind.ranks = instance.ranks;
    kind.whole_bytes = instance.whole_bytes;
    kind.count += instance.replays;
    kind.in_steps += call.captured ? call.replays_in_steps : counts(facts, call.step);
    kind.complete += instance.complete();
    if (kind.kernel < 0) kind.kernel = call.kernel;
    kind.facts = &facts;
    take_times(instance, times_of(comm, instance, clocks, error_ns), kind);
    if (!error_ns) return;
    std::vector<int64_t> place;
    if (const auto offsets = clock_offsets(comm, clocks, instance, place))
        if (const auto spread = spread_ns(instance, *offsets, 0)) kind.spreads.push_back(*spread);
}

std::optional<double> measured_of(const Kinds& kinds) {
    std::vector<Reached> reached;
    for (const auto& [key, kind] : kinds)
        for (const int64_t transfer_ns : kind.transfers)
            if (const auto rate = rates(key.op, kind.whole_bytes, kind.ranks, transfer_ns, transfer_ns))
                reached.push_back({kind.whole_bytes, rate->busbw_gb_per_s});
    return measured_bandwidth(reached);
}

struct RoundLatency {
    double ns;
    int64_t bytes;  // of the messages that told it
};

// Of one round of a ring: what the smallest messages took at their best. None: there were no small ones.
std::optional<RoundLatency> latency_of(const Kinds& kinds) {
    int64_t smallest = kSmallBytes;
    std::optional<RoundLatency> latency;
    for (const auto& [key, kind] : kinds) {
        const int64_t rounds = facts_of(key.op).ring_rounds * (kind.ranks - 1);
        if (kind.whole_bytes < 0 || kind.whole_bytes >= smallest || rounds <= 0 || kind.transfers.empty())
            continue;
        smallest = kind.whole_bytes;
        latency = {static_cast<double>(*best_decile_ns(kind.transfers)) / static_cast<double>(rounds),
                   smallest};
    }
    return latency;
}

struct OfCommunicator {
    std::string uid;
    CommBandwidth by;
    std::optional<RoundLatency> latency;
    std::optional<int64_t> clock_error_ns;

    double latency_ns() const { return latency ? latency->ns : 0; }
};

// The algorithm is a part of the kernel's name.
ExpectedModel model_of(const KindKey& key, const KindSums& kind, const CommBandwidth& by) {
    if (key.op != CollectiveOp::all_reduce) return ExpectedModel::ring;
    const std::string name =
        kind.kernel < 0 ? "" : kind.facts->kernels[static_cast<size_t>(kind.kernel)].name;
    if (name.find("NVLS") != std::string::npos) return ExpectedModel::nvls;
    if (name.find("TREE") != std::string::npos) return ExpectedModel::tree;
    return by.levels ? ExpectedModel::two_level : ExpectedModel::ring;
}

struct Expected {
    ExpectedModel model;
    std::optional<Bandwidth> bandwidth, between;  // by which; between: of two levels
    std::optional<int64_t> simple_ns, ring_ns, by_model_ns, by_latency_ns;
};

Expected expected_of(const KindKey& key, const KindSums& kind, const OfCommunicator& comm) {
    Expected expected = {model_of(key, kind, comm.by), comm.by.own, {}, {}, {}, {}, {}};
    if (expected.model == ExpectedModel::two_level) {
        expected.bandwidth = comm.by.levels->within;
        expected.between = comm.by.levels->between;
    }
    if (kind.ranks == 0) return expected;  // not recorded
    if (!expected.bandwidth || facts_of(key.op).direction == WaitDirection::unknown || key.bytes < 0)
        return expected;
    const double gb_per_s = expected.bandwidth->gb_per_s;
    const ExpectedBy by = {expected.model, gb_per_s, comm.latency_ns(), comm.by.hosts.value_or(1),
                           expected.between ? expected.between->gb_per_s : 0};
    expected.simple_ns = expected_simple_ns(kind.whole_bytes, kind.ranks, gb_per_s);
    expected.ring_ns = expected_ring_ns(key.op, kind.whole_bytes, kind.ranks, gb_per_s, comm.latency_ns());
    expected.by_model_ns = expected_ns(key.op, kind.whole_bytes, kind.ranks, by);
    expected.by_latency_ns = expected_ring_ns(key.op, 0, kind.ranks, gb_per_s, comm.latency_ns());
    return expected;
}

int64_t sum_of(const std::vector<int64_t>& values) {
    return std::accumulate(values.begin(), values.end(), int64_t{0});
}
Value sum_if_any(const std::vector<int64_t>& values) {
    return values.empty() ? Value(nullptr) : Value(sum_of(values));
}
Value bytes_per_s(const std::optional<Rates>& rates, double Rates::*which) {
    return rates ? Value(*rates.*which * 1e9) : Value(nullptr);
}

Value transfer_by(const KindSums& kind) {
    if (kind.transfers.empty()) return nullptr;
    const bool by_clocks = 2 * kind.by_last_start > static_cast<int64_t>(kind.transfers.size());
    return std::string(by_clocks ? "last_start" : "shortest");
}
Value bytes_per_s(const std::optional<Bandwidth>& bandwidth) {
    return bandwidth ? Value(bandwidth->gb_per_s * 1e9) : Value(nullptr);
}
Value bandwidth_source(const std::optional<Bandwidth>& bandwidth) {
    return bandwidth ? Value(std::string(kSources[static_cast<size_t>(bandwidth->source)])) : Value(nullptr);
}

Value spread_of(KindSums& kind, const OfCommunicator& comm) {
    const auto spread = percentile(kind.spreads, 50);
    if (!spread || *spread < comm.clock_error_ns.value_or(INT64_MAX)) return nullptr;
    return *spread;
}

void write_kind(const OfCommunicator& comm, const KindKey& key, KindSums& kind, RunDb& run) {
    const auto transfer_ns = percentile(kind.transfers, 50);
    const auto longest_ns = percentile(kind.longest, 50);
    std::optional<Rates> rate;
    if (transfer_ns) rate = rates(key.op, kind.whole_bytes, kind.ranks, *transfer_ns, *longest_ns);
    const Expected expected = expected_of(key, kind, comm);
    const CollectiveEfficiency reached =
        efficiency(kind.whole_bytes, {expected.by_model_ns.value_or(0), expected.by_latency_ns.value_or(0)},
                   kind.transfers);
    run.add("collective_stat",
            {comm.uid.empty() ? Value(nullptr) : Value(comm.uid),
             std::string(facts_of(key.op).word),
             key.dtype >= 0 ? Value(dtype_name(key.dtype)) : Value(nullptr),
             key.bytes >= 0 ? Value(key.bytes) : Value(nullptr),
             comm.uid.empty() ? Value(nullptr) : Value(kind.ranks),
             kind.count,
             kind.in_steps,
             static_cast<int64_t>(kind.transfers.size()),
             kind.complete,
             key.bytes >= 0 ? Value(kind.whole_bytes) : Value(nullptr),
             sum_if_any(kind.transfers),
             sum_if_any(kind.waits),
             kind.own_known ? Value(kind.own_sum_ns) : Value(nullptr),
             maybe(transfer_ns),
             maybe(percentile(kind.waits, 50)),
             spread_of(kind, comm),
             transfer_by(kind),
             bytes_per_s(rate, &Rates::algbw_gb_per_s),
             bytes_per_s(rate, &Rates::busbw_gb_per_s),
             bytes_per_s(rate, &Rates::busbw_incl_wait_gb_per_s),
             maybe(expected.simple_ns),
             maybe(expected.ring_ns),
             maybe(expected.by_model_ns),
             expected.by_model_ns ? Value(std::string(name_of(expected.model))) : Value(nullptr),
             bytes_per_s(expected.bandwidth),
             bandwidth_source(expected.bandwidth),
             maybe(reached.share),
             std::string(kEfficiencyBy[static_cast<size_t>(reached.by)]),
             maybe(comm.by.hosts),
             bytes_per_s(expected.between),
             bandwidth_source(expected.between),
             comm.by.why.empty() ? Value(nullptr) : Value(comm.by.why),
             comm.latency ? Value(comm.latency->ns) : Value(nullptr),
             comm.latency ? Value(comm.latency->bytes) : Value(nullptr)});
}

}  // namespace

std::optional<int64_t> percentile(std::vector<int64_t>& values, int hundredths) {
    if (values.empty()) return {};
    std::sort(values.begin(), values.end());
    const size_t nth = (values.size() * static_cast<size_t>(hundredths) + 99) / 100;
    return values[std::max<size_t>(1, nth) - 1];
}

void write_stats(const CollectiveRun& all, std::span<const CommLink> links, RunDb& run) {
    std::vector<Kinds> kinds(all.communicators.size());
    std::vector<std::optional<double>> measured;
    for (size_t i = 0; i < kinds.size(); ++i) {
        const RunCommunicator& comm = all.communicators[i];
        const auto error_ns = clock_error_ns(comm, all.clocks);
        for (const CollectiveInstance& instance : comm.instances)
            take(comm, all.clocks, error_ns, instance, kinds[i]);
        measured.push_back(measured_of(kinds[i]));
    }
    const std::vector<CommBandwidth> by = comm_bandwidths(all, links, measured);
    for (size_t i = 0; i < kinds.size(); ++i) {
        const RunCommunicator& comm = all.communicators[i];
        const OfCommunicator facts = {comm.uid, by[i], latency_of(kinds[i]),
                                      clock_error_ns(comm, all.clocks)};
        for (auto& [key, kind] : kinds[i]) write_kind(facts, key, kind, run);
    }
}

}  // namespace gpushim::analysis
