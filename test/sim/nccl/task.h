// Something on the host that waits for other ranks: joining a communicator, splitting one. It goes on in
// steps that never block, so one thread can carry out the tasks of several ranks at once (groups), and a
// background thread those of communicators that must not block.
#pragma once

#include <memory>
#include <vector>

#include "communicator.h"

namespace gpusim::nccl {

class Task {
  public:
    explicit Task(Communicator comm) : comm_(std::move(comm)) {}
    virtual ~Task() = default;

    // Goes as far as it can now. True: it is over, with `result`, and the communicator's state says so.
    bool step();
    ncclResult_t result() const { return result_; }
    const Communicator& comm() const { return comm_; }

  protected:
    enum class Progress { waits, done };
    virtual Progress go_on() = 0;
    Progress fail(ncclResult_t result, const char* why);

    Communicator comm_;

  private:
    ncclResult_t result_ = ncclSuccess;
};

using Tasks = std::vector<std::unique_ptr<Task>>;

// Carries all of them out, on this thread or (as soon as it can) on the background thread. The first failure.
ncclResult_t carry_out(Tasks& tasks);
void carry_out_later(Tasks tasks);

}  // namespace gpusim::nccl
