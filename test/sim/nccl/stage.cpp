#include "stage.h"

namespace gpusim::nccl {

bool Stage::is_read(const Held& held) const {
    if (held.to >= 0)
        return room_->channels[rank_][held.to].moved.load(std::memory_order_acquire) >= held.number;
    for (int rank = 0; rank < nranks_; ++rank)
        if (room_->members[rank].rounds_moved.load(std::memory_order_acquire) < held.number) return false;
    return true;
}

uint64_t Stage::take(Held wanted) {
    if (wanted.size_bytes == 0) return 0;
    held_.remove_if([this](const Held& held) { return is_read(held); });
    wanted.size_bytes = (wanted.size_bytes + 63) / 64 * 64;
    auto next = held_.begin();
    for (; next != held_.end() && next->offset - wanted.offset < wanted.size_bytes; ++next)
        wanted.offset = next->offset + next->size_bytes;
    if (stage_bytes() - wanted.offset < wanted.size_bytes) return kFull;
    held_.insert(next, wanted);
    return wanted.offset;
}

}  // namespace gpusim::nccl
