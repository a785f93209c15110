#include "split.h"

#include <algorithm>
#include <tuple>

#include "engine/box_state.h"

namespace gpusim::nccl {

Split::Split(Communicator comm, Communicator parent, int color, int key, uint64_t excluded)
    : Join(std::move(comm)),
      parent_(std::move(parent)),
      color_(color),
      excluded_(excluded),
      own_room_(Room::make()) {
    {
        const std::lock_guard guard(parent_->mutex);
        number_ = ++parent_->offers;
    }
    Offer& own = offer_of(parent_->rank);
    own.color = color;
    own.key = key;
    own.room = own_room_;
    own.number.store(number_, std::memory_order_release);
    box::ring_bell();
}

Offer& Split::offer_of(int rank) const { return (*parent_->room)->members[rank].offers[number_ % 2]; }

Task::Progress Split::go_on() {
    if (!placed_ && wait_for_offers() == Progress::done) return Progress::done;
    return placed_ ? Join::go_on() : Progress::waits;
}

Task::Progress Split::wait_for_offers() {
    const auto missing = [this](int rank) {
        return takes_part(rank) && offer_of(rank).number.load(std::memory_order_acquire) != number_;
    };
    for (int rank = 0; rank < parent_->nranks; ++rank) {
        if (!missing(rank)) continue;
        // What went wrong with the parent's operations is no reason not to go on without the lost rank.
        const auto over = patience_.over(*parent_->room, parent_->nranks, missing, excluded_ == 0);
        if (over) Room::forget(own_room_);
        return over ? fail(over->result, over->why) : Progress::waits;
    }
    find_place();
    return color_ == NCCL_SPLIT_NOCOLOR ? Progress::done : Progress::waits;
}

void Split::find_place() {
    std::vector<std::tuple<int, int>> places;  // key, rank in the parent
    for (int rank = 0; rank < parent_->nranks; ++rank)
        if (takes_part(rank) && offer_of(rank).color == color_) places.emplace_back(offer_of(rank).key, rank);
    std::sort(places.begin(), places.end());
    const auto own = std::find_if(places.begin(), places.end(),
                                  [this](const auto& place) { return std::get<1>(place) == parent_->rank; });
    const int host = std::get<1>(places.front());
    if (host != parent_->rank || color_ == NCCL_SPLIT_NOCOLOR) Room::forget(own_room_);
    comm_->rank = static_cast<int>(own - places.begin());
    comm_->nranks = static_cast<int>(places.size());
    key_ = offer_of(host).room;
    placed_ = true;
}

}  // namespace gpusim::nccl
