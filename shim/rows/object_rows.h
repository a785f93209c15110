// Births, ends and names of objects; contexts and captures. The writer's thread only.
#pragma once

#include "graphs.h"
#include "row_maker.h"

namespace gpushim::shim {

class ObjectRows : RowMaker {
  public:
    ObjectRows(Known& known, Graphs& graphs) : RowMaker(known), graphs_(graphs) {}
    void born(const Call& call);
    void died(const Call& call);
    void named(const Call& call);
    void context(const Call& call);
    void capture(const Call& call);

  private:
    Life* parent_of(const Call& call);
    bool is_the_same(const Life& life, const Call& call, const Life* parent) const;
    Life& begin_life(const Call& call, bool has_extra);
    void released_primary(const Call& call);

    Graphs& graphs_;
};

}  // namespace gpushim::shim
