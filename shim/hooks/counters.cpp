#include "counters.h"

#include "../calls/elf.h"
#include "../calls/next.h"

namespace gpushim::shim {

constinit Counters counters = {};

}  // namespace gpushim::shim

using namespace gpushim::shim;

extern "C" __attribute__((visibility("default"))) uint64_t gpushim_hits(const char* name) {
    counters.counting.store(1, std::memory_order_relaxed);
    if (name == nullptr) return 0;
    if (same_text(name, "untouched")) return counters.untouched.load(std::memory_order_relaxed);
    if (same_text(name, "unknown_abi")) return counters.unknown_abi.load(std::memory_order_relaxed);
    const int api = hooked_name(name);
    return api < 0 ? 0 : counters.hits[api].load(std::memory_order_relaxed);
}

extern "C" __attribute__((visibility("default"))) int gpushim_hook(unsigned index, const char** name,
                                                                   const char** kind) {
    if (index >= kApis) return 0;
    *name = api_traits[index].name;
    *kind = api_traits[index].kind_name;
    return 1;
}
