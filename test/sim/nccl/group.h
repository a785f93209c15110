// Groups: what a thread asks for between ncclGroupStart and ncclGroupEnd happens at the outermost end, what
// it asks for outside at once. Each thread has its own.
#pragma once

#include "task.h"

namespace gpusim::nccl {

class Group {
  public:
    static Group& of_this_thread();

    void start() { ++depth_; }
    // At the outermost end: tasks, then batches. ncclInvalidUsage without a start.
    ncclResult_t end();
    // Forgets what was asked for; how long it would have taken.
    ncclResult_t simulate_end(Ns* estimate_ns);

    ncclResult_t add(Communicator comm, cudaStream_t stream, const Transfer& transfer);
    ncclResult_t add(std::unique_ptr<Task> task);
    // A call inside the group failed: nothing of the group will happen.
    ncclResult_t spoil(ncclResult_t result);

  private:
    struct Pending {
        Communicator comm;
        cudaStream_t stream;
        Transfer transfer;
    };
    struct Asked {
        std::vector<Pending> transfers;
        Tasks tasks;
        ncclResult_t error = ncclSuccess;
    };
    static ncclResult_t carry_out(Asked asked);

    int depth_ = 0;
    Asked asked_;
};

}  // namespace gpusim::nccl
