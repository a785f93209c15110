// What NCCL told of its own work (ring/nccl_view.h): nccl_communicator, nccl_operation, nccl_channel,
// nccl_network. An operation is the one that the program asked for in the same call or group, on the same
// thread, with the same function and size. The writer's thread only.
#pragma once

#include <unordered_map>

#include "../ring/nccl_view.h"
#include "row_maker.h"

namespace gpushim::shim {

class NcclRows : RowMaker {
  public:
    explicit NcclRows(Known& known) : RowMaker(known), asked_(known.asked_of_nccl) {}
    void load(Database& base);

    void joined(const Call& call);
    void operation(const Call& call);
    void channel(const Call& call);
    void network(const Call& call);

  private:
    struct Communicator {
        int64_t interface, rank;
    };
    const Communicator* find(uint64_t word) const;  // null: not known
    int64_t rank_of(uint64_t word) const;

    AskedOfNccl& asked_;
    std::unordered_map<int64_t, Communicator> known_;
};

}  // namespace gpushim::shim
