// Values by number: what samplers ask for in one call.
#include <type_traits>

#include "condition.h"
#include "device.h"
#include "engine/box_state.h"
#include "engine/device_facts.h"
#include "links.h"
#include "reliability.h"
#include "values.h"

using namespace gpusim;
using namespace gpusim::nvml;

namespace {

std::optional<unsigned> of_link(unsigned link, unsigned value) {
    return has_links() && link < facts::kLinkCount ? std::optional(value) : std::nullopt;
}

std::optional<unsigned long long> link_kib(int device, unsigned link) {
    const auto bytes = link_bytes(device, link);
    return bytes ? std::optional(*bytes / 1024) : std::nullopt;
}

void put(nvmlFieldValue_t& field, unsigned value) {
    field.valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
    field.value.uiVal = value;
    field.nvmlReturn = NVML_SUCCESS;
}

void put(nvmlFieldValue_t& field, unsigned long long value) {
    field.valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
    field.value.ullVal = value;
    field.nvmlReturn = NVML_SUCCESS;
}

template <class Value>
void put(nvmlFieldValue_t& field, const std::optional<Value>& value) {
    if (value) put(field, *value);
}

struct Row {
    unsigned first;
    unsigned last;
    void (*answer)(nvmlFieldValue_t& field, int device, unsigned scope);
};

constexpr Row kRows[] = {
#define FIELD(first, last, expression)                                                           \
    {first, last,                                                                                \
     [](nvmlFieldValue_t& field, [[maybe_unused]] int device, [[maybe_unused]] unsigned scope) { \
         put(field, expression);                                                                 \
     }},
#include "fields.def"
#undef FIELD
};

void answer_field(nvmlFieldValue_t& field, int device) {
    field.timestamp = static_cast<long long>(calendar_us(box_now()));
    field.latencyUsec = 0;
    field.nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
    for (const Row& row : kRows)
        if (row.first <= field.fieldId && field.fieldId <= row.last) row.answer(field, device, field.scopeId);
}

}  // namespace

IMPLEMENT(nvmlDeviceGetFieldValues)(nvmlDevice_t device, int count, nvmlFieldValue_t* values) {
    const int index = index_of(device);
    if (index < 0 || count <= 0 || values == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    for (int i = 0; i < count; ++i) answer_field(values[i], index);
    return NVML_SUCCESS;
}
