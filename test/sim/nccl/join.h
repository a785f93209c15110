// A rank's way into a communicator: its place in the room, all others' places, all others' stages. Nobody is
// in before all are.
#pragma once

#include "patience.h"
#include "task.h"

namespace gpusim::nccl {

class Join : public Task {
  public:
    // The communicator has its rank, size, context and device; it gets its room.
    Join(Communicator comm, const RoomKey& key) : Task(std::move(comm)), key_(key) {}

  protected:
    explicit Join(Communicator comm) : Task(std::move(comm)) {}  // `key_` is found out first
    Progress go_on() override;

    RoomKey key_{};

  private:
    Progress enter();
    Progress wait_for_joined();
    Progress wait_for_ready();
    Progress check_devices();
    Progress wait_or_give_up(Presence wanted);
    Progress fail_all(ncclResult_t result, const char* why);  // the others need not wait for this rank
    bool all_are(Presence wanted) const;
    void write_own_place(Member& place);

    Patience patience_;
    int stage_file_ = -1;
    Presence presence_ = Presence::absent;
};

}  // namespace gpusim::nccl
