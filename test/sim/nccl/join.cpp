#include "join.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "engine/box_state.h"
#include "engine/engine.h"
#include "profiler.h"

namespace gpusim::nccl {

Task::Progress Join::go_on() {
    if (comm_->stopped && comm_->room != nullptr)
        return fail_all(ncclInvalidUsage, "aborted while it was being made");
    if (presence_ == Presence::absent && enter() == Progress::done) return Progress::done;
    if (presence_ == Presence::joined && wait_for_joined() == Progress::done) return Progress::done;
    return presence_ == Presence::ready ? wait_for_ready() : Progress::waits;
}

Task::Progress Join::enter() {
    comm_->room = Room::enter(key_);
    if (comm_->room == nullptr) return fail(ncclSystemError, "the process that made the unique id is gone");
    SharedRoom& room = comm_->room->shared();
    int32_t nranks = 0;
    if (!room.nranks.compare_exchange_strong(nranks, comm_->nranks) && nranks != comm_->nranks)
        return fail_all(ncclInvalidArgument, "the ranks do not agree on their number");
    Member& place = room.members[comm_->rank];
    Presence seen = Presence::absent;
    if (!place.presence.compare_exchange_strong(seen, Presence::entering))
        return fail(ncclInvalidUsage, "this rank is taken, or the unique id was used before");
    write_own_place(place);
    place.presence.store(Presence::joined, std::memory_order_release);
    presence_ = Presence::joined;
    box::ring_bell();
    return Progress::waits;
}

void Join::write_own_place(Member& place) {
    stage_file_ = make_stage_file();
    place.pid = getpid();
    place.start_ticks = start_ticks_of(place.pid);
    place.stage_file = stage_file_;
    place.joined_ns = clock::now();
    std::memcpy(place.device, comm_->device_id, sizeof place.device);
}

bool Join::all_are(Presence wanted) const {
    const auto& members = (*comm_->room)->members;
    return std::all_of(members, members + comm_->nranks, [wanted](const Member& member) {
        return member.presence.load(std::memory_order_acquire) >= wanted;
    });
}

Task::Progress Join::wait_or_give_up(Presence wanted) {
    const auto over = patience_.over(*comm_->room, comm_->nranks, [&](int rank) {
        return (*comm_->room)->members[rank].presence.load(std::memory_order_acquire) < wanted;
    });
    if (!over) return Progress::waits;
    return fail_all(over->result, over->why);
}

Task::Progress Join::fail_all(ncclResult_t result, const char* why) {
    comm_->fail(result, why);
    if (stage_file_ >= 0) close(stage_file_);
    Room::forget(key_);
    return fail(result, why);
}

Task::Progress Join::wait_for_joined() {
    if (!all_are(Presence::joined)) return wait_or_give_up(Presence::joined);
    Room::forget(key_);
    if (check_devices() == Progress::done) return Progress::done;
    for (int rank = 0; rank < comm_->nranks; ++rank)
        if (!comm_->room->map_stage(rank)) return wait_or_give_up(Presence::left);
    (*comm_->room)->members[comm_->rank].presence.store(Presence::ready, std::memory_order_release);
    presence_ = Presence::ready;
    box::ring_bell();
    return Progress::waits;
}

Task::Progress Join::check_devices() {
    const auto& members = (*comm_->room)->members;
    for (int a = 0; a < comm_->nranks; ++a)
        for (int b = 0; b < a; ++b)
            if (std::memcmp(members[a].device, members[b].device, sizeof members[a].device) == 0)
                return fail_all(ncclInvalidUsage, "two ranks of a communicator are on the same device");
    return Progress::waits;
}

Task::Progress Join::wait_for_ready() {
    if (!all_are(Presence::ready)) return wait_or_give_up(Presence::ready);
    close(stage_file_);
    const auto ranks = static_cast<size_t>(comm_->nranks);
    Ns last_ns = 0;
    for (int rank = 0; rank < comm_->nranks; ++rank)
        last_ns = std::max(last_ns, (*comm_->room)->members[rank].joined_ns);
    {
        const auto held = engine::lock();
        comm_->stage = std::make_unique<Stage>(*comm_->room, comm_->rank, comm_->nranks);
        comm_->sent.assign(ranks, 0);
        comm_->received.assign(ranks, 0);
    }
    if (clock::stepped()) clock::sleep_until(last_ns);  // blocked until the last came
    uint64_t hash = 0;
    std::memcpy(&hash, &key_, std::min(sizeof hash, sizeof key_));
    profiler::begin(*comm_, hash);
    comm_->ready.store(true, std::memory_order_release);
    return Progress::done;
}

}  // namespace gpusim::nccl
