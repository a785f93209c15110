#include "group.h"

#include <algorithm>
#include <map>

#include "engine/knobs.h"
#include "launch.h"

namespace gpusim::nccl {
namespace {

// One kernel per communicator and stream, in the order in which they were first used.
struct Launch {
    std::shared_ptr<Batch> batch;
    cudaStream_t stream;
    uint64_t rounds = 0;
    std::map<std::pair<Kind, int>, uint64_t> messages;  // by direction and peer
};

// Collectives that do not fit one kernel go on in another. Messages stay together: the other side may need
// this rank's before it can go on.
bool takes(Launch& launch, const Communicator& comm, cudaStream_t stream, const Transfer& t) {
    if (launch.batch->comm != comm || launch.stream != stream) return false;
    if (t.is_message()) return ++launch.messages[{t.kind, t.peer}] <= kMaxFusedMessages;
    return ++launch.rounds <= kMaxFusedRounds;
}

Launch new_launch(const Communicator& comm, cudaStream_t stream) {
    auto batch = std::make_shared<Batch>();
    batch->comm = comm;
    return {std::move(batch), stream, 0, {}};
}

bool too_many_messages(const std::vector<Launch>& launches) {
    return std::any_of(launches.begin(), launches.end(), [](const Launch& launch) {
        return std::any_of(launch.messages.begin(), launch.messages.end(),
                           [](const auto& to_one) { return to_one.second > kMaxFusedMessages; });
    });
}

}  // namespace

Group& Group::of_this_thread() {
    static thread_local Group group;
    return group;
}

ncclResult_t Group::end() {
    if (depth_ == 0) return refuse(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
    if (--depth_ > 0) return ncclSuccess;
    return carry_out(std::exchange(asked_, {}));
}

ncclResult_t Group::simulate_end(Ns* estimate_ns) {
    if (depth_ == 0) return refuse(ncclInvalidUsage, "ncclGroupSimulateEnd without ncclGroupStart");
    if (--depth_ > 0) return ncclSuccess;
    const Asked asked = std::exchange(asked_, {});
    *estimate_ns = static_cast<Ns>(knobs().nccl_latency_us * 1e3);
    for (const Pending& p : asked.transfers)
        *estimate_ns += Share{p.transfer, p.comm->rank, p.comm->nranks}.duration_ns();
    return asked.error;
}

ncclResult_t Group::add(Communicator comm, cudaStream_t stream, const Transfer& transfer) {
    asked_.transfers.push_back({std::move(comm), stream, transfer});
    return depth_ > 0 ? ncclSuccess : carry_out(std::exchange(asked_, {}));
}

ncclResult_t Group::add(std::unique_ptr<Task> task) {
    asked_.tasks.push_back(std::move(task));
    return depth_ > 0 ? ncclSuccess : carry_out(std::exchange(asked_, {}));
}

ncclResult_t Group::spoil(ncclResult_t result) {
    if (depth_ > 0 && result != ncclSuccess && asked_.error == ncclSuccess) asked_.error = result;
    return result;
}

ncclResult_t Group::carry_out(Asked asked) {
    if (asked.error != ncclSuccess) return asked.error;
    Tasks now, in_background;
    for (auto& task : asked.tasks) (task->comm()->blocking ? now : in_background).push_back(std::move(task));
    const bool goes_on = !in_background.empty();
    if (goes_on) carry_out_later(std::move(in_background));
    if (const ncclResult_t failed = nccl::carry_out(now); failed != ncclSuccess) return failed;

    std::vector<Launch> launches;
    for (const Pending& p : asked.transfers) {
        auto launch = std::find_if(launches.begin(), launches.end(), [&p](Launch& known) {
            return takes(known, p.comm, p.stream, p.transfer);
        });
        if (launch == launches.end()) {
            launches.push_back(new_launch(p.comm, p.stream));
            launch = std::prev(launches.end());
            takes(*launch, p.comm, p.stream, p.transfer);
        }
        launch->batch->transfers.push_back(p.transfer);
    }
    if (too_many_messages(launches))
        return refuse(ncclInvalidUsage, "more than 64 messages from one rank to another in a group");
    for (const Launch& launch : launches)
        if (const ncclResult_t failed = nccl::launch(launch.batch, launch.stream); failed != ncclSuccess)
            return failed;
    return goes_on ? ncclInProgress : ncclSuccess;
}

}  // namespace gpusim::nccl
