// What those have in common who make rows of events (launch_rows.h, copy_rows.h, …): the blocks that rows go
// into, and who knows which row of the trace a name, handle, stream or kind of call has. All that is
// remembered can be read back from the trace (load). The writer's thread only.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "../schema/flags.h"
#include "../sqlite/database.h"
#include "asked_of_nccl.h"
#include "call.h"
#include "handles.h"
#include "interned.h"
#include "rollup_series.h"
#include "streams.h"
#include "table_limits.h"
#include "tables.h"
#include "timed_operations.h"

namespace gpushim::shim {

struct Known {
    Known(Tables& of, TimedOperations& operations, bool recovering, const TableLimits& limits);
    void load(Database& base);

    Tables& tables;
    TimedOperations& timed;
    const int64_t recovered;  // the flag of rows that a recovery makes, or 0
    Names names;
    Apis apis;
    Shapes shapes;
    SeriesList series;
    Handles handles;
    Streams streams;
    std::unordered_map<int64_t, int64_t> group_on_stream;  // the newest NCCL call that used a stream
    AskedOfNccl asked_of_nccl;
    std::vector<uint64_t> unnamed;  // functions whose names are to be asked for
};

inline int64_t or_null(bool there, uint64_t value) { return there ? static_cast<int64_t>(value) : kNull; }

struct HeldFromCall {  // what a node, or all of a graph, holds from a call on: columns of `call`
    int64_t id = kNull, node = kNull;
};

class RowMaker {
  protected:
    explicit RowMaker(Known& known)
        : tables_(known.tables),
          timed_(known.timed),
          recovered_(known.recovered),
          names_(known.names),
          shapes_(known.shapes),
          series_(known.series),
          handles_(known.handles),
          streams_(known.streams),
          group_on_stream_(known.group_on_stream),
          unnamed_(known.unnamed) {}
    RowMaker(const RowMaker&) = delete;
    RowMaker& operator=(const RowMaker&) = delete;
    ~RowMaker() = default;

    void add_call(const Call& call, int64_t target_id, int64_t stream_id, const HeldFromCall& held = {});
    Series series_of(const Call& call, SeriesKind kind, int64_t stream_id = kNull) const;
    Streams::Use use(const Call& call, uint64_t handle) const;
    int64_t stream_of(const Call& call, uint64_t handle);
    Life* target(const Call& call, uint64_t handle);
    int64_t target_id(const Call& call, uint64_t handle);
    void ask_name(Life& function);

    Tables& tables_;
    TimedOperations& timed_;
    const int64_t recovered_;
    Names& names_;
    Shapes& shapes_;
    SeriesList& series_;
    Handles& handles_;
    Streams& streams_;
    std::unordered_map<int64_t, int64_t>& group_on_stream_;
    std::vector<uint64_t>& unnamed_;
};

}  // namespace gpushim::shim
