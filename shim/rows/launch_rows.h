// Launches of kernels and graphs. A launch like the one before it costs a look into a small cache. The
// writer's thread only.
#pragma once

#include "graphs.h"
#include "row_maker.h"

namespace gpushim::shim {

class LaunchRows : RowMaker {
  public:
    LaunchRows(Known& known, Graphs& graphs) : RowMaker(known), graphs_(graphs) {}
    void launch(const Call& call);
    void graph_launch(const Call& call);

  private:
    struct CachedShape {
        uint64_t function, grid, block;
        uint16_t api;
        Life* life;
        int64_t life_id;
        int64_t shape_id;
        // Of the newest of these launches, and what it counts to.
        int64_t stream_id, name_id, flags, series;
    };
    CachedShape& cached_shape(const Call& call);
    int64_t shape_of(const Call& call, CachedShape& cached, Life*& function);
    int64_t launch_series(const Call& call, CachedShape& cached, const Life* function, int64_t stream_id);
    int64_t group_of(const Call& call, int64_t stream_id, const Life* function, int64_t& flags);

    // A short process does not pay for many.
    static constexpr size_t kFewCachedShapes = 16, kCachedShapes = 1024;
    std::vector<CachedShape> cached_shapes_;  // made when there is a launch
    size_t shapes_not_cached_ = 0;
    Graphs& graphs_;
};

}  // namespace gpushim::shim
