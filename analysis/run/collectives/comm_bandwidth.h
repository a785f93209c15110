// By which bandwidths the collectives of each communicator are expected: its own, or, where its ranks lie on
// several hosts, one within a host and one between them.
//
//   host a   0 ═ 1 ═ 2 ═ 3        ═  within: given, measured on a communicator of one host, else topology
//                │                │  between: given, else measured on communicators that have one rank on
//   host b   4 ═ 5 ═ 6 ═ 7           each host, so many of them as a host has ranks, at most
//
// Once for a run; one thread.
#pragma once

#include <string>

#include "../../collective/expected.h"
#include "collective_run.h"

namespace gpushim::analysis {

struct HostLevels {
    Bandwidth within, between;  // between: of all links of one host
};
struct CommBandwidth {
    std::optional<Bandwidth> own;
    std::optional<HostLevels> levels;  // there: an AllReduce is expected by them
    std::optional<int64_t> hosts;      // none: not all of its ranks say where they are
    std::string why;                   // it lies on several hosts, and their levels are not known
};

// `measured`: what big messages of each communicator reached.
std::vector<CommBandwidth> comm_bandwidths(const CollectiveRun& all, std::span<const CommLink> links,
                                           std::span<const std::optional<double>> measured);

}  // namespace gpushim::analysis
