// The end of a communicator: what it still does is waited for, or stopped.
#pragma once

#include "task.h"

namespace gpusim::nccl {

// Waits until all its kernels are over.
class Flush : public Task {
  public:
    using Task::Task;

  protected:
    Progress go_on() override;
};

ncclResult_t flush(const Communicator& comm);

// Its kernels end where they are; no bytes arrive any more.
void stop(ncclComm& comm);

// Takes it out of the world: the handle is dead, other ranks know that this one has left.
void leave(const Communicator& comm);

}  // namespace gpusim::nccl
