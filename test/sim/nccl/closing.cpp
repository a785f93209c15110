#include "closing.h"

#include "driver_api.h"
#include "engine/box_state.h"
#include "engine/engine.h"
#include "kernel.h"
#include "profiler.h"

namespace gpusim::nccl {

Task::Progress Flush::go_on() {
    Ns end_ns = 0;
    {
        const auto held = engine::lock();
        engine::pump();
        if (comm_->last != nullptr && !comm_->last->is_over()) return Progress::waits;
        if (comm_->last != nullptr) end_ns = comm_->last->end_ns();
    }
    clock::sleep_until(end_ns);
    return Progress::done;
}

ncclResult_t flush(const Communicator& comm) {
    Tasks tasks;
    tasks.push_back(std::make_unique<Flush>(comm));
    return carry_out(tasks);
}

void stop(ncclComm& comm) {
    comm.stopped.store(true, std::memory_order_release);
    box::ring_bell();
    const auto held = engine::lock();
    engine::pump();
}

void leave(const Communicator& comm) {
    profiler::end(*comm);
    remove_communicator(comm.get());
    if (comm->ready) {
        std::atomic<Presence>& presence = (*comm->room)->members[comm->rank].presence;
        Presence ready = Presence::ready;
        presence.compare_exchange_strong(ready, Presence::left);
        box::ring_bell();
    }
    if (comm->retained) driver_api().cuDevicePrimaryCtxRelease(comm->device);
}

}  // namespace gpusim::nccl
