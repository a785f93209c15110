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
};

}  // namespace gpushim::shim
