// How devices lie to each other and to the CPUs: two on a PCIe switch, four on a NUMA node.
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "device.h"
#include "links.h"

using namespace gpusim::nvml;

namespace {

nvmlGpuTopologyLevel_t level(int a, int b) {
    if (a == b) return NVML_TOPOLOGY_INTERNAL;
    if (a / 2 == b / 2) return NVML_TOPOLOGY_SINGLE;
    return a / 4 == b / 4 ? NVML_TOPOLOGY_NODE : NVML_TOPOLOGY_SYSTEM;
}

std::vector<int> at_level(int device, nvmlGpuTopologyLevel_t wanted) {
    std::vector<int> found;
    for (int other = 0; other < device_count(); ++other)
        if (other != device && level(device, other) == wanted) found.push_back(other);
    return found;
}

// *count = 0 asks how many; otherwise so many are given, if there are.
nvmlReturn_t give_handles(const std::vector<int>& devices, unsigned* count, nvmlDevice_t* out) {
    const auto there = static_cast<unsigned>(devices.size());
    if (*count != 0 && out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const unsigned given = std::min(*count, there);
    for (unsigned i = 0; i < given; ++i) out[i] = handle_of(devices[i]);
    *count = *count == 0 ? there : given;
    return NVML_SUCCESS;
}

}  // namespace

IMPLEMENT(nvmlDeviceGetTopologyCommonAncestor)
(nvmlDevice_t device, nvmlDevice_t other, nvmlGpuTopologyLevel_t* path) {
    const int b = index_of(other);
    if (b < 0) return NVML_ERROR_INVALID_ARGUMENT;
    return answer(device, path, [b](int a) { return level(a, b); });
}

IMPLEMENT(nvmlDeviceGetTopologyNearestGpus)
(nvmlDevice_t device, nvmlGpuTopologyLevel_t wanted, unsigned* count, nvmlDevice_t* out) {
    const int index = index_of(device);
    if (index < 0 || count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    return give_handles(at_level(index, wanted), count, out);
}

IMPLEMENT(nvmlDeviceGetP2PStatus)
(nvmlDevice_t device, nvmlDevice_t other, nvmlGpuP2PCapsIndex_t capability, nvmlGpuP2PStatus_t* status) {
    if (index_of(other) < 0 || capability >= NVML_P2P_CAPS_INDEX_UNKNOWN) return NVML_ERROR_INVALID_ARGUMENT;
    const bool offered = capability != NVML_P2P_CAPS_INDEX_NVLINK || has_links();
    return answer(device, status,
                  [offered](int) { return offered ? NVML_P2P_STATUS_OK : NVML_P2P_STATUS_NOT_SUPPORTED; });
}

// Every device is near every CPU.
IMPLEMENT(nvmlDeviceGetCpuAffinity)(nvmlDevice_t device, unsigned words, unsigned long* mask) {
    if (index_of(device) < 0 || mask == nullptr || words == 0) return NVML_ERROR_INVALID_ARGUMENT;
    constexpr long kBits = 8 * sizeof *mask;
    const long cpus = sysconf(_SC_NPROCESSORS_CONF);
    if (cpus > kBits * static_cast<long>(words)) return NVML_ERROR_INSUFFICIENT_SIZE;
    std::fill_n(mask, words, 0UL);
    for (long cpu = 0; cpu < cpus; ++cpu) mask[cpu / kBits] |= 1UL << (cpu % kBits);
    return NVML_SUCCESS;
}
IMPLEMENT(nvmlDeviceGetMemoryAffinity)
(nvmlDevice_t device, unsigned words, unsigned long* nodes, nvmlAffinityScope_t) {
    if (index_of(device) < 0 || nodes == nullptr || words == 0) return NVML_ERROR_INVALID_ARGUMENT;
    std::fill_n(nodes, words, 0UL);
    nodes[0] = 1;
    return NVML_SUCCESS;
}
