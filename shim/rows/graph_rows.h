// What graphs are made of and how they change. The writer's thread only.
#pragma once

#include "graphs.h"
#include "row_maker.h"

namespace gpushim::shim {

class GraphRows : RowMaker {
  public:
    GraphRows(Known& known, Graphs& graphs) : RowMaker(known), graphs_(graphs) {}
    void graph(const Call& call);
    void content(const Call& call);
    void nodes(const Call& call);

  private:
    void change(const Call& call, Life& exec);
    HeldFromCall held_by_exec(const Call& call);
    HeldFromCall held_by_graph(const Call& call);
    int64_t function_of(const Call& call, uint64_t handle);
    int64_t id_of_graph(const Call& call, uint64_t handle);  // kNull: it is none

    Graphs& graphs_;
};

}  // namespace gpushim::shim
