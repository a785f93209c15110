// Many small messages in place of few large ones: each costs its rounds' latency, whatever it carries. One
// for each layer, or for each scalar.
//
//   now         |l░|l░|l░|l░|l░|l░|        l latency, ░ data
//   buckets     |l░░░░░░|                  gone: five latencies
#include <algorithm>
#include <cmath>

#include "../text/units.h"
#include "../to_int64.h"
#include "excess.h"

namespace gpushim::analysis {

namespace {

constexpr int64_t kSmallBytes = 1 << 20;
constexpr double kMostlyLatency = 0.5;  // of such a message's time, at least
constexpr double kBucketBytes = 25e6;   // as PyTorch's DDP makes them
constexpr double kSeveral = 2;          // calls of a step that become one

struct Small {
    std::vector<const CollectiveKind*> kinds;
    double calls = 0, ns = 0, bytes = 0;
    double low_ns = 0, high_ns = 0;  // what goes in buckets
};

// The rate of the largest messages: what is between that and all of a call's time is latency at least.
double slowest_ns_per_byte(const Traffic& traffic) {
    int64_t largest = 0;
    double ns_per_byte = 0;
    for (const CollectiveKind& kind : traffic.kinds)
        if (kind.is_reduction() && kind.bytes > largest) {
            largest = kind.bytes;
            ns_per_byte = kind.each_ns / static_cast<double>(kind.bytes);
        }
    return ns_per_byte;
}

// Only what is reduced can be put together; of all communicators, for each has its own buckets.
Small small_of(const Traffic& traffic) {
    Small small;
    for (const CollectiveKind& kind : traffic.kinds) {
        if (!kind.is_reduction() || kind.bytes >= kSmallBytes) continue;
        small.kinds.push_back(&kind);
        small.calls += kind.calls;
        small.ns += kind.ns();
        small.bytes += kind.calls * static_cast<double>(kind.bytes);
    }
    const double buckets = std::ceil(small.bytes / kBucketBytes);
    if (small.calls < kSeveral * std::max(1.0, buckets)) return {};
    const double goes = 1 - buckets / small.calls;
    const double ns_per_byte = slowest_ns_per_byte(traffic);
    for (const CollectiveKind* kind : small.kinds) {
        const double data_ns = std::min(kind->data_ns().value_or(0), kind->each_ns);
        const double by_largest_ns = std::max(data_ns, ns_per_byte * static_cast<double>(kind->bytes));
        const double surely = kind->bytes < kLatencyBound ? kMostlyLatency * (kind->each_ns - data_ns) : 0;
        small.low_ns += goes * kind->calls * std::max(surely, kind->each_ns - by_largest_ns);
        small.high_ns += goes * kind->calls * (kind->each_ns - data_ns);
    }
    return small;
}

}  // namespace

double latency_share(const Traffic& traffic) {
    return traffic.ns() > 0 ? small_of(traffic).high_ns / traffic.ns() : 0;
}

namespace rule_small_collectives {

namespace {

std::optional<Finding> look(const Situation& run) {
    const Traffic traffic(run);
    const Small small = small_of(traffic);
    if (small.kinds.empty()) return {};
    Finding found;
    found.title = count_text(to_int64(small.calls)) + " calls of " + bytes_text(small.bytes / small.calls) +
                  " each reduce " + bytes_text(small.bytes) + " a " + run.per() + " and take " +
                  duration_text(small.ns) + ", which is mostly latency";
    found.try_it = run.advice({"small_collectives"});
    found.gain = without_transfers(run, small.low_ns / traffic.ns(), small.high_ns / traffic.ns());
    found.confidence = 0.7;
    found.evidence = traffic.evidence(small.kinds);
    return found;
}

constexpr Heading kHeading = {"communication-bound", "Many small collectives",
                              "small transfers run one by one", "buckets"};
const RuleRegistration kRegistration({"small_collectives", Scope::kManyGpus, look, kHeading,
                                      Programs::training});

}  // namespace

}  // namespace rule_small_collectives

}  // namespace gpushim::analysis
