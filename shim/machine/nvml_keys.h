// The keys of the table `nvml` and how each is asked: nvml_keys.def. Plain data; asking is for the thread
// that may use the library (nvml_library.h).
#pragma once

#include <cstdint>
#include <span>

#include "nvml_library.h"

namespace gpushim::shim {

struct NvmlKey {
    const char* name;
    const char* unit;
    const char* function;
    nvmlReturn_t (*ask)(void* function, nvmlDevice_t device, int64_t& value);
};

std::span<const NvmlKey> nvml_keys();
constexpr size_t kMostNvmlKeys = 32;

// The device will never have an answer to that question, in this library or at all.
bool is_final(nvmlReturn_t answer);

// One of the values that NVML has by number; `scope`: of which link.
struct FieldValue : nvmlFieldValue_t {
    FieldValue(unsigned id, unsigned scope) : nvmlFieldValue_t{} {
        fieldId = id;
        scopeId = scope;
    }
    int64_t number() const;
};

}  // namespace gpushim::shim
