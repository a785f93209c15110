// What the program has asked NCCL for in the newest call or group of each thread, so that what NCCL tells of
// it finds its communicator and number. NCCL's communicator becomes ours where no other can be meant; a group
// in which several could be says nothing. Bounded; the writer's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace gpushim::shim {

class AskedOfNccl {
  public:
    // From the first communicator on of which NCCL tells.
    void want() { is_wanted_ = true; }
    bool is_wanted() const { return is_wanted_; }

    struct Operation {
        uint64_t function;  // as in a word of NCCL's (nccl_view.h)
        int64_t communicator_id, rank;
        int64_t seq, count, bytes, peer;
    };
    void add(int64_t thread, int64_t group, const Operation& operation);

    // What NCCL told; rank and peer kNull: not told, or no message.
    struct Told {
        int64_t thread, group;
        uint64_t function;
        int64_t nccl_communicator_id, rank;
        int64_t count, peer;
    };
    // Each operation is found once. kNull: not known.
    struct Found {
        int64_t communicator_id, seq;
    };
    Found take(const Told& told);

  private:
    struct Group {
        int64_t number = -1;
        std::vector<Operation> operations;
    };
    int64_t communicator_of(const Told& told, const Group& group);
    bool can_be(const Told& told, const Operation& asked) const;

    static constexpr size_t kMostThreads = 1024, kMostOperations = 4096;
    std::unordered_map<int64_t, Group> groups_;
    std::unordered_map<int64_t, int64_t> ours_,
        theirs_;  // NCCL's communicator: ours, and the other way round
    bool is_wanted_ = false;
};

}  // namespace gpushim::shim
