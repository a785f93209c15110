// A process's view of the memory in which the ranks of one communicator meet: what they tell each other
// (shared_room.h), and each rank's stage, where its contributions lie until all have read them. Ranks of one
// process share one view. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>

#include "shared_room.h"

namespace gpusim::nccl {

class Room {
  public:
    // A new, empty room, kept open by this process until all ranks are in or `forget` is called.
    static RoomKey make();
    static void forget(const RoomKey& key);

    // Null: the process that made it is gone, or this is no key.
    static std::shared_ptr<Room> enter(const RoomKey& key);
    static bool is_key(const RoomKey& key);

    Room(const RoomKey& key, SharedRoom* shared) : key_(key), shared_(shared) {}
    ~Room();
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;

    SharedRoom* operator->() const { return shared_; }
    SharedRoom& shared() const { return *shared_; }
    const RoomKey& key() const { return key_; }

    // Maps the stage of a rank that has joined. False: its process is gone.
    bool map_stage(int rank);
    std::byte* stage(int rank) const { return stages_[static_cast<size_t>(rank)]; }

  private:
    RoomKey key_;
    SharedRoom* shared_;
    std::mutex mutex_;  // guards the making of `stages_`
    std::array<std::byte*, kMaxRanks> stages_{};
};

// A file for one rank's stage, to be closed when all have mapped it.
int make_stage_file();
size_t stage_bytes();

// Whether the process of that id, started then, is gone (or only waits to be reaped).
int64_t start_ticks_of(int pid);
bool is_gone(int pid, int64_t start_ticks);

}  // namespace gpusim::nccl
