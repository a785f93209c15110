#include "patience.h"

#include "engine/knobs.h"

namespace gpusim::nccl {

Patience::Clock::duration Patience::timeout() {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(knobs().nccl_timeout_s));
}

bool Patience::has_left(const Member& member) {
    switch (member.presence.load(std::memory_order_acquire)) {
        case Presence::absent:
        case Presence::entering:  // whose process it is, is being written
            return false;
        case Presence::left:
            return true;
        default:
            return is_gone(member.pid, member.start_ticks);
    }
}

}  // namespace gpusim::nccl
