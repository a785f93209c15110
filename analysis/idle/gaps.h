// The gaps of one GPU in a window: the longest spans in which nothing ran on any of its streams.
//
//   window        |──────────────────────────────────|
//   stream 1              ████████         ███
//   stream 2  ████████          ███████           ████████
//   gaps              |──|             |──|   |──|        touching operations leave none
//
// The operation that ends a gap is the next one; of several that start then, the one launched first. A gap
// that ends with the window has none. An operation so short that its times are the same ends a gap, too:
// the GPU waited for it, and waits for another now.
//
// One thread.
#pragma once

#include <cstdint>
#include <vector>

#include "../interval/interval.h"
#include "attribute.h"

namespace gpushim::analysis {

struct DeviceOperation {
    int64_t start_ns, end_ns;
    Next next;  // what a gap before it is asked with
};

class Gaps {
  public:
    Gaps(int32_t gpu, Interval window) : gpu_(gpu), window_(window), idle_from_ns_(window.start_ns) {}

    void add(const DeviceOperation& operation) {  // in order of start
        add(operation.start_ns, operation.end_ns, operation.next.is_page, [&] { return operation.next; });
    }
    // The same: makes its `next` where a gap is asked with it.
    template <class MakeNext>
    void add(int64_t start_ns, int64_t end_ns, bool is_page, MakeNext next) {
        if (end_ns < start_ns) return;
        last_start_ns_ = start_ns;
        if (start_ns >= window_.end_ns) return;
        if (start_ns > idle_from_ns_)
            gaps_.push_back({gpu_, idle_from_ns_, start_ns, next(), is_behind_page_});
        else if (!gaps_.empty() && gaps_.back().until_ns == start_ns)
            end_last_with(next());
        if (end_ns < idle_from_ns_) return;
        is_behind_page_ = is_page;
        idle_from_ns_ = end_ns;
    }
    // Those that are certain by now, in place of what is there, and begins with the rest.
    void take(std::vector<Gap>& certain);
    std::vector<Gap> finish();  // the rest
    // Of what was not taken yet, the begin.
    int64_t from_ns() const { return gaps_.empty() ? idle_from_ns_ : gaps_.front().from_ns; }

  private:
    void end_last_with(const Next& other);  // if that was launched first
    int32_t gpu_;
    Interval window_;
    int64_t idle_from_ns_;  // nothing runs from here on, as far as is known
    bool is_behind_page_ = false;
    std::vector<Gap> gaps_;
    int64_t last_start_ns_ = INT64_MIN;
};

}  // namespace gpushim::analysis
