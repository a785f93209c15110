// Calls that wait or ask, and those that only take time: events, host functions, values. The writer's thread
// only.
#pragma once

#include "row_maker.h"
#include "span_rows.h"

namespace gpushim::shim {

class WaitRows : RowMaker {
  public:
    WaitRows(Known& known, SpanRows& spans) : RowMaker(known), spans_(spans) {}
    void sync(const Call& call);
    void query(const Call& call);
    void stream_first(const Call& call);     // its first word is a stream
    void event_on_stream(const Call& call);  // recorded, or waited for
    void other(const Call& call);

  private:
    void add_sync(const Call& call, int64_t dur_ns, int64_t calls);
    void profiler(const Call& call);

    SpanRows& spans_;
};

}  // namespace gpushim::shim
