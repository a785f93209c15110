#include "device_order.h"

namespace gpushim::analysis {

void DeviceOrder::Queue::grow() {
    const size_t more = room == 0 ? 16 : 2 * room;
    auto moved = std::make_unique<DeviceOp[]>(more);
    for (size_t i = 0; i < count; ++i) moved[i] = ops[(first + i) & (room - 1)];
    ops = std::move(moved);
    room = more;
    first = 0;
}

DeviceOp& DeviceOrder::add_late(int64_t start_ns) {
    if (late_free_.empty()) {
        late_free_.push_back(static_cast<uint32_t>(late_ops_.size()));
        late_ops_.emplace_back();
    }
    const uint32_t index = late_free_.back();
    late_free_.pop_back();
    late_.push({start_ns, index});
    return late_ops_[index];
}

const DeviceOp* DeviceOrder::next_late(int64_t until_ns) {
    if (late_.first().at_ns >= until_ns) return nullptr;
    const uint32_t index = late_.first().index;
    late_.pop();
    late_free_.push_back(index);
    return &late_ops_[index];
}

}  // namespace gpushim::analysis
