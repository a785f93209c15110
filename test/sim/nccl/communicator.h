// A communicator as one rank has it. A handle is the address of its object; a registry tells living ones from
// any other pointer. What is not fixed by the time it is ready is atomic or says which lock guards it.
#pragma once

#include <cuda.h>
#include <nccl.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "plugin_library.h"
#include "room.h"
#include "stage.h"
#include "transfer.h"

namespace gpusim::nccl {
class Kernel;
}

struct ncclComm : std::enable_shared_from_this<ncclComm> {
    int rank = 0;
    int nranks = 0;
    bool blocking = true;
    CUcontext context = nullptr;
    CUdevice device = 0;
    bool retained = false;  // `context` is the device's primary one, and held for this communicator
    unsigned char device_id[16]{};
    std::shared_ptr<gpusim::nccl::Room> room;

    std::atomic<ncclResult_t> state{ncclInProgress};  // what ncclCommGetAsyncError says
    std::atomic<bool> ready{false};                   // what is above is there
    std::atomic<bool> stopped{false};                 // aborted or revoked: its kernels end where they are
    std::atomic<bool> finalized{false};

    // Of a profiler plug-in (profiler.h).
    gpusim::nccl::profiler::Plugin plugin;
    void* plugin_context = nullptr;
    int plugin_mask = 0;
    std::array<uint64_t, 16> plugin_sequence{};  // of each kind: how many there were

    // With the engine's lock.
    std::unique_ptr<gpusim::nccl::Stage> stage;
    uint64_t rounds = 0;
    std::vector<uint64_t> sent, received;  // by the other rank
    std::shared_ptr<gpusim::nccl::Kernel> last;

    std::mutex mutex;  // guards what follows
    uint64_t offers = 0;
    uint64_t growths = 0;
    std::vector<std::unique_ptr<gpusim::nccl::Reduction>>
        reductions;                                    // those the program made; null: destroyed
    std::vector<std::unique_ptr<char>> registrations;  // their addresses are the handles

    // The first failure stays; where it concerns the other ranks, they learn of it.
    void fail(ncclResult_t result, const char* why);
};

namespace gpusim::nccl {

using Communicator = std::shared_ptr<ncclComm>;

Communicator make_communicator();
Communicator find_communicator(ncclComm_t handle);  // null: none (any more)
void remove_communicator(ncclComm_t handle);

// The last thing that went wrong in this process, in words.
void explain(const std::string& why);
const char* last_explanation();
// `result`, and why.
ncclResult_t refuse(ncclResult_t result, const std::string& why);
ncclResult_t no_communicator();  // refused: the handle is none

}  // namespace gpusim::nccl
