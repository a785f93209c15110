// Making communicators.
#include <cstring>
#include <set>

#include "api.h"
#include "closing.h"
#include "device.h"
#include "entry.h"
#include "group.h"
#include "grow.h"
#include "join.h"
#include "split.h"

namespace gpusim::nccl::api {
namespace {

// What of a configuration means anything on the box. Older programs give shorter ones.
ncclResult_t read_config(const ncclConfig_t* config, ncclComm& comm) {
    constexpr ncclConfig_t kFresh = NCCL_CONFIG_INITIALIZER;
    if (config == nullptr) return ncclSuccess;
    if (config->magic != kFresh.magic)
        return refuse(ncclInvalidArgument, "the configuration was not initialized");
    if (config->size < offsetof(ncclConfig_t, cgaClusterSize))
        return refuse(ncclInvalidArgument, "a short configuration");
    if (config->blocking == NCCL_CONFIG_UNDEF_INT) return ncclSuccess;
    if (config->blocking != 0 && config->blocking != 1)
        return refuse(ncclInvalidArgument, "blocking is neither 0 nor 1");
    comm.blocking = config->blocking == 1;
    return ncclSuccess;
}

// A failed blocking call leaves no communicator behind.
class GivesHandle {
  public:
    GivesHandle(ncclComm_t* handle, Communicator comm) : handle_(handle), comm_(std::move(comm)) {
        *handle_ = comm_.get();
    }
    ncclResult_t finish(ncclResult_t result) {
        if (result == ncclSuccess || result == ncclInProgress) return result;
        leave(comm_);
        *handle_ = nullptr;
        return Group::of_this_thread().spoil(result);
    }

  private:
    ncclComm_t* handle_;
    Communicator comm_;
};

RoomKey key_of(const ncclUniqueId& id) {
    RoomKey key;
    std::memcpy(&key, &id, sizeof key);
    return key;
}

ncclResult_t check_ranks(const ncclComm_t* handle, int nranks, int rank) {
    if (handle == nullptr) return refuse(ncclInvalidArgument, "no place for the communicator");
    if (nranks < 1 || rank < 0 || rank >= nranks) return refuse(ncclInvalidArgument, "no such rank");
    if (nranks > kMaxRanks) return refuse(ncclInvalidUsage, "more than 64 ranks");
    return ncclSuccess;
}

ncclResult_t init(ncclComm_t* handle, int nranks, const ncclUniqueId& id, int rank,
                  const ncclConfig_t* config, int device) {
    if (const auto result = check_ranks(handle, nranks, rank); result != ncclSuccess)
        return Group::of_this_thread().spoil(result);
    const RoomKey key = key_of(id);
    if (!Room::is_key(key))
        return Group::of_this_thread().spoil(refuse(ncclInvalidArgument, "not a unique id"));
    bind_to_process();
    const Communicator comm = make_communicator();
    GivesHandle handing(handle, comm);
    comm->rank = rank;
    comm->nranks = nranks;
    if (const auto result = read_config(config, *comm); result != ncclSuccess) return handing.finish(result);
    const ncclResult_t used = device < 0 ? use_current_context(*comm) : use_device(*comm, device);
    if (used != ncclSuccess) return handing.finish(used);
    return handing.finish(Group::of_this_thread().add(std::make_unique<Join>(comm, key)));
}

constexpr int kCurrent = -1;

void inherit(ncclComm& comm, const ncclComm& parent) {
    comm.blocking = parent.blocking;
    comm.context = parent.context;
    comm.device = parent.device;
    std::memcpy(comm.device_id, parent.device_id, sizeof comm.device_id);
}

// A new communicator for a rank of `parent`; `handle` gets null where the rank is in none.
ncclResult_t derive(const Communicator& parent, int color, int key, uint64_t excluded, ncclComm_t* handle,
                    const ncclConfig_t* config) {
    const bool is_in = color != NCCL_SPLIT_NOCOLOR;
    const Communicator comm = is_in ? make_communicator() : std::make_shared<ncclComm>();
    GivesHandle handing(handle, comm);
    inherit(*comm, *parent);
    ncclResult_t result = read_config(config, *comm);
    if (result == ncclSuccess)
        result = Group::of_this_thread().add(std::make_unique<Split>(comm, parent, color, key, excluded));
    result = handing.finish(result);
    if (!is_in) *handle = nullptr;
    return result;
}

ncclResult_t check_parent(const Communicator& parent, const ncclComm_t* handle) {
    if (parent == nullptr) return no_communicator();
    if (handle == nullptr) return refuse(ncclInvalidArgument, "no place for the communicator");
    if (!parent->ready || parent->state == ncclInProgress)
        return refuse(ncclInvalidArgument, "the communicator is still busy with what it was asked before");
    return ncclSuccess;
}

ncclResult_t read_excluded(const ncclComm& parent, const int* ranks, int count, uint64_t& excluded) {
    if (ranks == nullptr || count < 1 || count >= parent.nranks)
        return refuse(ncclInvalidArgument, "no list of ranks to leave out, or none would be left");
    for (int i = 0; i < count; ++i) {
        if (ranks[i] < 0 || ranks[i] >= parent.nranks) return refuse(ncclInvalidArgument, "no such rank");
        excluded |= uint64_t{1} << ranks[i];
    }
    if ((excluded >> parent.rank & 1) != 0)
        return refuse(ncclInvalidArgument, "a rank that is left out calls, too");
    return ncclSuccess;
}

}  // namespace

ncclResult_t get_unique_id(ncclUniqueId* id) {
    if (id == nullptr) return refuse(ncclInvalidArgument, "no place for the id");
    const RoomKey key = Room::make();
    std::memcpy(id, &key, sizeof key);
    return ncclSuccess;
}

ncclResult_t init_rank(ncclComm_t* handle, int nranks, ncclUniqueId id, int rank) {
    return init(handle, nranks, id, rank, nullptr, kCurrent);
}

ncclResult_t init_rank_config(ncclComm_t* handle, int nranks, ncclUniqueId id, int rank,
                              ncclConfig_t* config) {
    return init(handle, nranks, id, rank, config, kCurrent);
}

// One id is enough on one machine: all use the first.
ncclResult_t init_rank_scalable(ncclComm_t* handle, int nranks, int rank, int ids, ncclUniqueId* id,
                                ncclConfig_t* config) {
    if (id == nullptr || ids < 1 || ids > nranks)
        return Group::of_this_thread().spoil(refuse(ncclInvalidArgument, "no unique ids"));
    return init(handle, nranks, id[0], rank, config, kCurrent);
}

ncclResult_t init_all(ncclComm_t* handles, int count, const int* devices) {
    if (handles == nullptr || count < 1) return refuse(ncclInvalidArgument, "no place for the communicators");
    if (devices != nullptr && std::set<int>(devices, devices + count).size() != static_cast<size_t>(count))
        return refuse(ncclInvalidUsage, "a device is listed twice");
    ncclUniqueId id;
    if (const auto result = get_unique_id(&id); result != ncclSuccess) return result;
    Group& group = Group::of_this_thread();
    group.start();
    for (int rank = 0; rank < count; ++rank) {
        handles[rank] = nullptr;
        init(&handles[rank], count, id, rank, nullptr, devices != nullptr ? devices[rank] : rank);
    }
    const ncclResult_t result = group.end();
    if (result == ncclSuccess) return result;
    for (int rank = 0; rank < count; ++rank) {
        if (const Communicator made = find_communicator(handles[rank])) leave(made);
        handles[rank] = nullptr;
    }
    Room::forget(key_of(id));
    return result;
}

ncclResult_t comm_split(ncclComm_t handle, int color, int key, ncclComm_t* made, ncclConfig_t* config) {
    const Communicator parent = find_communicator(handle);
    ncclResult_t result = check_parent(parent, made);
    if (result == ncclSuccess && color < 0 && color != NCCL_SPLIT_NOCOLOR)
        result = refuse(ncclInvalidArgument, "a negative color");
    if (result == ncclSuccess && parent->state != ncclSuccess)
        result = refuse(parent->state, "an earlier operation of the communicator has failed");
    if (result != ncclSuccess) return Group::of_this_thread().spoil(result);
    return derive(parent, color, key, 0, made, config);
}

ncclResult_t comm_unique_id(ncclComm_t handle, ncclUniqueId* id) {
    const Communicator comm = find_communicator(handle);
    if (comm == nullptr) return no_communicator();
    if (!comm->ready) return refuse(ncclInvalidArgument, "the communicator is still being made");
    if (const auto result = get_unique_id(id); result != ncclSuccess) return result;
    offer_growth(*comm, key_of(*id));
    return ncclSuccess;
}

// Who comes gives no communicator, but the id and its rank; who was there keeps its rank.
ncclResult_t comm_grow(ncclComm_t handle, int nranks, const ncclUniqueId* id, int rank, ncclComm_t* made,
                       ncclConfig_t* config) {
    if (handle == nullptr && id == nullptr)
        return Group::of_this_thread().spoil(refuse(ncclInvalidArgument, "neither a communicator nor an id"));
    if (handle == nullptr) return init(made, nranks, *id, rank, config, kCurrent);
    const Communicator parent = find_communicator(handle);
    ncclResult_t result = check_parent(parent, made);
    if (result == ncclSuccess) result = check_ranks(made, nranks, parent->rank);
    if (result == ncclSuccess && nranks <= parent->nranks)
        result = refuse(ncclInvalidArgument, "no more ranks than there are");
    if (result != ncclSuccess) return Group::of_this_thread().spoil(result);
    const Communicator comm = make_communicator();
    GivesHandle handing(made, comm);
    inherit(*comm, *parent);
    comm->rank = parent->rank;
    comm->nranks = nranks;
    result = read_config(config, *comm);
    if (result != ncclSuccess) return handing.finish(result);
    return handing.finish(Group::of_this_thread().add(std::make_unique<Growth>(comm, parent)));
}

ncclResult_t comm_shrink(ncclComm_t handle, int* ranks, int count, ncclComm_t* made, ncclConfig_t* config,
                         int flags) {
    const Communicator parent = find_communicator(handle);
    uint64_t excluded = 0;
    ncclResult_t result = check_parent(parent, made);
    if (result == ncclSuccess) result = read_excluded(*parent, ranks, count, excluded);
    if (result == ncclSuccess && flags != NCCL_SHRINK_DEFAULT && flags != NCCL_SHRINK_ABORT)
        result = refuse(ncclInvalidArgument, "no such flag");
    if (result != ncclSuccess) return Group::of_this_thread().spoil(result);
    if (flags == NCCL_SHRINK_ABORT) stop(*parent);
    return derive(parent, 0, parent->rank, excluded, made, config);
}

}  // namespace gpusim::nccl::api
