#include "communicator.h"

#include <map>

#include "engine/box_state.h"
#include "engine/intern.h"

using namespace gpusim;
using namespace gpusim::nccl;

namespace {

struct Registry {
    std::mutex mutex;
    std::map<ncclComm_t, Communicator> alive;
};

Registry& registry() {
    static auto* const r = new Registry;
    return *r;
}

std::atomic<const char*> explanation{""};

}  // namespace

void ncclComm::fail(ncclResult_t result, const char* why) {
    explain(why);
    ncclResult_t before = state.load();
    while ((before == ncclSuccess || before == ncclInProgress) &&
           !state.compare_exchange_weak(before, result)) {
    }
    if (room == nullptr) return;
    int none = ncclSuccess;
    (*room)->failed.compare_exchange_strong(none, ncclRemoteError);
    box::ring_bell();
}

namespace gpusim::nccl {

Communicator make_communicator() {
    auto made = std::make_shared<ncclComm>();
    const std::lock_guard guard(registry().mutex);
    registry().alive[made.get()] = made;
    return made;
}

Communicator find_communicator(ncclComm_t handle) {
    const std::lock_guard guard(registry().mutex);
    const auto found = registry().alive.find(handle);
    return found == registry().alive.end() ? nullptr : found->second;
}

void remove_communicator(ncclComm_t handle) {
    Communicator last;  // let go of without the lock
    const std::lock_guard guard(registry().mutex);
    const auto found = registry().alive.find(handle);
    if (found == registry().alive.end()) return;
    last = std::move(found->second);
    registry().alive.erase(found);
}

void explain(const std::string& why) { explanation.store(intern(why), std::memory_order_release); }

const char* last_explanation() { return explanation.load(std::memory_order_acquire); }

ncclResult_t refuse(ncclResult_t result, const std::string& why) {
    explain(why);
    return result;
}
ncclResult_t no_communicator() { return refuse(ncclInvalidArgument, "not a communicator"); }

}  // namespace gpusim::nccl
