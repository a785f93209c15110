// What ranks sent each other, for the rules about that. Calls and times are of one GPU in a mean step (or a
// second); times are transfers, without waiting for the last rank. One thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "../advice/rule.h"
#include "../collective/operation.h"

namespace gpushim::analysis {

// Collectives that are alike: a row of collective_stat that has transfer times.
struct CollectiveKind {
    int64_t rowid;
    std::string comm, op;
    int64_t bytes, ranks;  // S of one
    double calls, each_ns;
    std::optional<double> bandwidth_bytes_per_s;  // given by a person, else what the run was analysed with
    std::optional<double> expected_ns;            // of one, by that
    bool is_judged;  // there are enough of them, and they are alike enough, to say whether they are slow

    double ns() const { return calls * each_ns; }
    // Of the gradients, or parameters and gradients where they are sharded; not Broadcast, Send, …
    bool is_reduction() const { return op == "allreduce" || op == "reducescatter" || op == "allgather"; }
    // What its bytes alone need; none: no bandwidth is known.
    std::optional<double> data_ns() const;
};

struct Traffic {
    std::vector<CollectiveKind> kinds;  // most time first

    explicit Traffic(const Situation& run);
    double ns() const;  // of a step
    // "AllReduce", "AllGather and ReduceScatter": which operations these are, those that take longest first.
    static std::string operations(const std::vector<const CollectiveKind*>& of);
    std::vector<Evidence> evidence(const std::vector<const CollectiveKind*>& of) const;  // the largest three
};

// Communication while nothing else ran: in the mean step, on the GPU that has most transfers of that kind.
struct Exposed {
    double transfer_ns = 0, wait_ns = 0;
    double compute_ns = 0;  // of that GPU, in such a step
};
Exposed exposed_communication(const Situation& run);

// Transfers shorter by so much of each. High: what goes is all of what was exposed. Low: of what was exposed
// as much as of the rest.
Gain without_transfers(const Situation& run, double low_share, double high_share);
// So much less of what was exposed.
Gain less_exposed(const Situation& run, double low_share, double high_share);
// Transfers, so large a share of them, behind compute beside which none runs yet. Low: behind such a share of
// it only, and so large a share of the transfers stays exposed.
Gain transfers_hidden(const Situation& run, double share, double low_compute_share, double left_share);

}  // namespace gpushim::analysis
