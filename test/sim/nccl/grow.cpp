#include "grow.h"

#include "engine/box_state.h"

namespace gpusim::nccl {
namespace {

// The n-th is only made when all ranks have read the one before the last.
Offer& growth_of(ncclComm& parent, uint64_t number) { return (*parent.room)->growths[number % 2]; }

}  // namespace

void offer_growth(ncclComm& parent, const RoomKey& key) {
    uint64_t number;
    {
        const std::lock_guard guard(parent.mutex);
        number = parent.growths + 1;
    }
    Offer& offer = growth_of(parent, number);
    offer.room = key;
    offer.number.store(number, std::memory_order_release);
    box::ring_bell();
}

Growth::Growth(Communicator comm, Communicator parent) : Join(std::move(comm)), parent_(std::move(parent)) {
    const std::lock_guard guard(parent_->mutex);
    number_ = ++parent_->growths;
}

Task::Progress Growth::go_on() {
    if (!has_key_ && wait_for_key() == Progress::done) return Progress::done;
    return has_key_ ? Join::go_on() : Progress::waits;
}

Task::Progress Growth::wait_for_key() {
    const Offer& offer = growth_of(*parent_, number_);
    if (offer.number.load(std::memory_order_acquire) == number_) {
        key_ = offer.room;
        has_key_ = true;
        return Progress::waits;
    }
    const auto others = [this](int rank) { return rank != parent_->rank; };
    const auto over = patience_.over(*parent_->room, parent_->nranks, others, true);
    return over ? fail(over->result, over->why) : Progress::waits;
}

}  // namespace gpusim::nccl
