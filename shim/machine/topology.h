// How devices are connected, as NVML says: one line for each way between two of them, and what each has to
// the host. Whoever may use the library (nvml_library.h); may throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "nvml_library.h"

namespace gpushim::shim {

struct Place {
    int32_t id;  // what the answer calls the device
    nvmlDevice_t handle;
};

constexpr int32_t kHost = -1;

struct Link {
    int32_t device;
    int32_t peer;  // kHost: what the device has to the host
    // Between devices "nvlink 4.0" and the nearest thing that they share on the bus, in words; to the host
    // "pcie 5", "numa node 0", "cpus 0-31".
    std::string how;
    int64_t links;        // NVLinks or PCIe lanes; kNull: not told
    int64_t bytes_per_s;  // each way, of all links or lanes, before protocols; kNull: not told
};

std::vector<Link> links_between(const NvmlLibrary& library, std::span<const Place> places);

}  // namespace gpushim::shim

// For `gpushim doctor`: opens NVML in this process and tells the links of all its devices, and of each its
// name (peer -1, links -2). -1 for a number that is not told. Returns how many devices there are; -1: no
// NVML.
extern "C" __attribute__((visibility("default"))) int gpushim_topology(
    void (*take)(void* to, int device, int peer, const char* how, int64_t links, int64_t bytes_per_s),
    void* to);
