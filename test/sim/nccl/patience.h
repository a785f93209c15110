// How long one waits for other ranks: until GPUSIM_NCCL_TIMEOUT_S of real time are over, until somebody has
// given up on all, or until the process of a rank that is missing is known to be dead.
#pragma once

#include <chrono>
#include <optional>

#include "room.h"

namespace gpusim::nccl {

class Patience {
  public:
    struct End {
        ncclResult_t result;
        const char* why;
        bool out_of_time = false;
    };

    // Asked again and again; `missing(rank)` says whom one waits for. Counts from the first question.
    template <class Missing>
    std::optional<End> over(const Room& room, int nranks, Missing missing, bool all_or_none = true) {
        const auto now = Clock::now();
        if (!since_) since_ = now, next_look_ = now + kLookEvery;
        if (now - *since_ > timeout()) return End{ncclRemoteError, "a rank did not come in time", true};
        const int failed = room->failed.load(std::memory_order_acquire);
        if (all_or_none && failed != ncclSuccess)
            return End{static_cast<ncclResult_t>(failed), "another rank has given up"};
        if (now < next_look_) return std::nullopt;
        int looked_at = 0;
        for (int rank = 0; rank < nranks; ++rank) {
            if (!missing(rank)) continue;
            ++looked_at;
            if (has_left(room->members[rank])) return End{ncclRemoteError, "the process of a rank is gone"};
        }
        next_look_ = now + kLookEvery * (1 + looked_at / 8);  // looking costs a file read for each
        return std::nullopt;
    }

    using Clock = std::chrono::steady_clock;
    static Clock::duration timeout();

  private:
    static constexpr auto kLookEvery = std::chrono::milliseconds(50);

    static bool has_left(const Member& member);

    std::optional<Clock::time_point> since_;
    Clock::time_point next_look_;
};

}  // namespace gpusim::nccl
