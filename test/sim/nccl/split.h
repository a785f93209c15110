// New communicators out of the ranks of another one: each rank says to the others which one it wants to be in
// and brings a room; the first rank of each new communicator is the host.
#pragma once

#include "join.h"

namespace gpusim::nccl {

class Split : public Join {
  public:
    // `excluded`: ranks of the parent that take no part. A `color` of NCCL_SPLIT_NOCOLOR only tells the
    // others.
    Split(Communicator comm, Communicator parent, int color, int key, uint64_t excluded);

  protected:
    Progress go_on() override;

  private:
    Offer& offer_of(int rank) const;
    bool takes_part(int rank) const { return (excluded_ >> rank & 1) == 0; }
    Progress wait_for_offers();
    void find_place();

    Communicator parent_;
    int color_;
    uint64_t excluded_;
    uint64_t number_;
    RoomKey own_room_;
    Patience patience_;
    bool placed_ = false;
};

}  // namespace gpusim::nccl
