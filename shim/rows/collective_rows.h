// Calls of NCCL: collectives and communicators. The writer's thread only.
#pragma once

#include "communicators.h"
#include "row_maker.h"

namespace gpushim::shim {

class CollectiveRows : RowMaker {
  public:
    explicit CollectiveRows(Known& known)
        : RowMaker(known), communicators_(tables_, handles_), asked_of_nccl_(known.asked_of_nccl) {}
    void load(Database& base) { communicators_.load(base); }
    void collective(const Call& call);
    void communicator(const Call& call);
    void end_of_batch() { communicators_.add_counts(); }

  private:
    Communicators communicators_;
    AskedOfNccl& asked_of_nccl_;
};

}  // namespace gpushim::shim
