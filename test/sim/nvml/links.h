// NVLink and PCIe as NVML counts them. NVLinks lead to a switch that all devices share, where GPUSIM_TOPOLOGY
// says there are any; what a device moved is spread evenly over its links. Any thread.
#pragma once

#include <optional>

namespace gpusim::nvml {

bool has_links();

// Bytes that went one way over link `link` since the box began, or over all where `link` is UINT_MAX; nothing
// where there is no such link. What a device sends it also receives: the box does not tell the two apart.
std::optional<unsigned long long> link_bytes(int device, unsigned link);

unsigned long long pcie_bytes(int device, bool sent);

}  // namespace gpusim::nvml
