// When one device of a trace was busy, as it ran: the spans of its operations with device times, united, one
// after the other. Memory is that of what was launched and has not started. One thread.
#pragma once

#include <optional>

#include "../../interval/interval.h"
#include "../../trace/timeline.h"
#include "../pass/device_order.h"

namespace gpushim::analysis {

class BusySpans {
  public:
    BusySpans(const Trace& trace, int64_t device_id)
        : timeline_(trace), order_(timeline_.lanes().size()), device_id_(device_id) {}
    BusySpans(const BusySpans&) = delete;
    BusySpans& operator=(const BusySpans&) = delete;

    std::optional<Interval> next();  // by start, apart from each other; none: there are no more

  private:
    void read();

    Timeline timeline_;
    DeviceOrder order_;  // by lane
    int64_t device_id_;
    int64_t until_ns_ = INT64_MIN;  // all that starts before then is in order_
    std::optional<Interval> open_;  // what comes next may still be part of it
};

}  // namespace gpushim::analysis
