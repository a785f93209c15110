// A device as the driver shows it to this process. Plain data.
#pragma once

#include <cstdint>

namespace gpushim::shim {

struct Device {
    int32_t ordinal;
    char uuid[48];  // GPU-xxxxxxxx-xxxx-…
    char name[256];
    uint64_t memory_bytes;
    char pci[32];
    int32_t multiprocessors;  // 0: not said
    int32_t compute_major, compute_minor;
};

}  // namespace gpushim::shim
