// How the devices of this machine are connected, by NVML's numbering: as the library would record it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../text/json.h"

namespace gpushim::analysis {

struct TopologyLink {
    int device;
    std::optional<int64_t> peer;  // none: the host
    std::string how;
    std::optional<int64_t> links, bytes_per_s;
};

struct Topology {
    std::string why;  // nothing is known; empty: all of it is
    std::vector<std::string> names;
    std::vector<TopologyLink> links;
};

Topology look_at_topology();

// A matrix of the devices, and a line for each to the host.
std::vector<std::string> lines_of(const Topology& topology);
Json json_of(const Topology& topology);

}  // namespace gpushim::analysis
