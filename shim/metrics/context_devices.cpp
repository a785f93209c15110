#include "context_devices.h"

#include "../calls/api.h"

namespace gpushim::shim {

void ContextDevices::note(std::map<uint64_t, int64_t>& devices, uint64_t which, int64_t device) {
    if (devices.size() < kMostContexts || devices.contains(which)) devices[which] = device;
}

void ContextDevices::take(const Event& event) {
    if ((event.slot.flags & kFailed) != 0 || event.exit_ns == kUnfinished) return;
    const auto kind = static_cast<EventKind>(event.slot.kind);
    if (kind == EventKind::context) {
        const auto words = words_of<event::context>(event.slot);
        if (words.device_plus_1 != 0)
            note(of_handle_, words.handle, static_cast<int64_t>(words.device_plus_1) - 1);
        const auto known = of_handle_.find(words.handle);
        note(of_number_, event.slot.context, known == of_handle_.end() ? -1 : known->second);
    } else if (kind == EventKind::born && event.slot.api < kApis) {
        const auto its = api_traits[event.slot.api].traits;
        // Of green ones the words do not say the device.
        if ((its & traits::object_bits) != traits::of_context ||
            (its & (traits::current | traits::primary)) == 0)
            return;
        const auto words = words_of<event::born>(event.slot);
        note(of_handle_, words.handle, static_cast<int64_t>(words.extra));
        if ((its & traits::current) != 0 && !of_number_.contains(event.slot.context))
            note(of_number_, event.slot.context, static_cast<int64_t>(words.extra));
    }
}

int64_t ContextDevices::device_of(const Event& event) const {
    const auto known = of_number_.find(event.slot.context);
    return event.slot.context == 0 || known == of_number_.end() ? -1 : known->second;
}

}  // namespace gpushim::shim
