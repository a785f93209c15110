// Something that the writer looks at beside the rings: what the device's clock says, what the host is doing,
// what NVML shows. It keeps rows of its own tables until they are in the database. The writer's thread only;
// nothing throws but std::bad_alloc.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "../sqlite/rows.h"
#include "batch.h"

namespace gpushim::shim {

// An operation that got events of ours, as it stands in the trace.
enum class Operation : uint8_t { launch, copy, memset, graph_launch };
struct TimedOperation {
    int64_t enter_ns;  // id of its row
    int64_t exit_ns;
    int64_t recorded_ns;  // when its end event had been
    int64_t stream_id;
    int64_t alike;  // operations with the same number take about the same time: the shape of a launch, …
    uint64_t what;  // the first word of its event: a launch's function, …
    uint32_t context;
    uint32_t start;  // event_pool.h; kNoEvent: none
    uint32_t end;    // … or, by CUPTI, the number of its records
    Operation operation;
    bool fenced;    // between it and the operation before it its stream was told to wait for something else
    bool blocking;  // the call may have waited for the operation
    int64_t series = 0;  // rollup_series.h; 0: not known
};

struct Moment {
    int64_t mono_ns;  // of the trace's clock
    int64_t real_ns;
    bool ending;           // the process exits: the last time
    bool reading = false;  // a context ends: what is done in it is read now, or never
};

class Observer {
  public:
    virtual ~Observer() = default;

    // In every pass, before a commit, if there is one. How long it may be until the next, at most.
    virtual int64_t look(const Moment& now) = 0;

    // Rows for the next transaction; emptied (Rows::clear) when it is done.
    virtual std::span<Rows* const> rows() = 0;

    // What a transaction has put into the trace.
    virtual void stored(std::span<const Event> /*events*/, std::span<const TimedOperation> /*timed*/) {}
};

}  // namespace gpushim::shim
