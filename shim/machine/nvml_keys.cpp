#include "nvml_keys.h"

#include <climits>
#include <iterator>

namespace gpushim::shim {
namespace {

struct Lately {
    unsigned percent;
    unsigned period_us;
};

struct MemoryInfo : nvmlMemory_v2_t {
    MemoryInfo() : nvmlMemory_v2_t{} { version = nvmlMemory_v2; }
};

template <unsigned id>
struct Field : FieldValue {
    Field() : FieldValue(id, 0) {}
};

template <unsigned id>
struct OfAllLinks : FieldValue {
    OfAllLinks() : FieldValue(id, UINT_MAX) {}
};

// A field says by itself whether it could be had.
template <class Answer>
nvmlReturn_t own_error(const Answer& answer) {
    if constexpr (requires { answer.nvmlReturn; })
        return answer.nvmlReturn;
    else
        return NVML_SUCCESS;
}

constexpr NvmlKey kKeys[] = {
#define NVML_KEY(key, unit, name, Answer, arguments, number)                                      \
    {#key, unit, #name, [](void* address, [[maybe_unused]] nvmlDevice_t device, int64_t& value) { \
         Answer answer{};                                                                         \
         auto* ask = reinterpret_cast<decltype(::name)*>(address);                                \
         const nvmlReturn_t result = ask arguments;                                               \
         if (result != NVML_SUCCESS) return result;                                               \
         value = static_cast<int64_t>(number);                                                    \
         return own_error(answer);                                                                \
     }},
#include "nvml_keys.def"
#undef NVML_KEY
};
static_assert(std::size(kKeys) <= kMostNvmlKeys);

}  // namespace

std::span<const NvmlKey> nvml_keys() { return kKeys; }

bool is_final(nvmlReturn_t answer) {
    return answer == NVML_ERROR_NOT_SUPPORTED || answer == NVML_ERROR_INVALID_ARGUMENT ||
           answer == NVML_ERROR_NO_PERMISSION || answer == NVML_ERROR_FUNCTION_NOT_FOUND ||
           answer == NVML_ERROR_ARGUMENT_VERSION_MISMATCH || answer == NVML_ERROR_DEPRECATED;
}

int64_t FieldValue::number() const {
    switch (valueType) {
        case NVML_VALUE_TYPE_DOUBLE:
            return static_cast<int64_t>(value.dVal);
        case NVML_VALUE_TYPE_UNSIGNED_INT:
            return value.uiVal;
        case NVML_VALUE_TYPE_UNSIGNED_LONG:
            return static_cast<int64_t>(value.ulVal);
        case NVML_VALUE_TYPE_SIGNED_LONG_LONG:
            return value.sllVal;
        case NVML_VALUE_TYPE_SIGNED_INT:
            return value.siVal;
        default:
            return static_cast<int64_t>(value.ullVal);
    }
}

}  // namespace gpushim::shim
