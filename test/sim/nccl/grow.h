// A larger communicator out of another one and ranks that come to it. One rank of the old one makes a unique
// id for those who come; the others of the old one find it where that rank has left it for them.
#pragma once

#include "join.h"

namespace gpusim::nccl {

// Leaves `key` where the ranks of `parent` look for it when they next grow.
void offer_growth(ncclComm& parent, const RoomKey& key);

class Growth : public Join {
  public:
    // The communicator has its rank and size.
    Growth(Communicator comm, Communicator parent);

  protected:
    Progress go_on() override;

  private:
    Progress wait_for_key();

    Communicator parent_;
    uint64_t number_;
    Patience patience_;
    bool has_key_ = false;
};

}  // namespace gpusim::nccl
