// The GPU waits while the host is in calls of NCCL or MPI: it exchanges messages, waits for others in that,
// or makes communicators. Transfers of the GPU itself are exposed_communication.
#include "host_overhead.h"

namespace gpushim::analysis::rule_host_communication {

namespace {

constexpr Causes kCauses = {"comm_host"};

constexpr Heading kAtStart = {"start-up", "Calls of NCCL or MPI",
                              "the GPU waits while the host is in calls of NCCL or MPI",
                              "what is made once, before what is recorded"};

std::optional<Finding> look(const Situation& run) {
    std::optional<Finding> found = waits_while_host_is(run, kCauses, "in calls of NCCL or MPI");
    if (!found) return {};
    const bool may_be_start = run.may_be_start(kCauses);
    if (may_be_start) found->heading = &kAtStart;
    found->try_it = may_be_start ? run.advice({"host_communication.start", "host_communication"})
                                 : run.advice({"host_communication"});
    // Only what other work is there for can run behind it, and a rank that is late stays late.
    found->gain.low_ns = 0;
    found->confidence = 0.6;
    return found;
}

constexpr Heading kHeading = {"communication-bound", "The host exchanges messages",
                              "the GPU waits while the host is in calls of NCCL or MPI",
                              "messages while the GPU works"};
const RuleRegistration kRegistration({"host_communication", Scope::kOneGpu, look, kHeading,
                                      Programs::training});

}  // namespace

}  // namespace gpushim::analysis::rule_host_communication
