// What we cost: the program's threads by what their rings say, the writer beside them. A row of `cost` for
// every second. The writer's thread only.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "../base/rounding.h"
#include "../ring/clock.h"
#include "../ring/rings.h"
#include "../schema/rows.h"
#include "governor.h"

namespace gpushim::shim {

// The harvest tells what it took of the writer inside the driver, each time.
void add_harvest_ns(int64_t ns);
// … and what an event takes on the device on which it takes longest, as far as that is known now. What is far
// more than any is taken for a device that was busy when it was asked.
void say_event_takes(int64_t ns);

class OwnCost {
  public:
    // Measures what recording an event takes: a little at first, for a process that ends soon, and well
    // a moment later.
    OwnCost(ClockKind clock, const ClockPair& now);

    // In every pass. `is_open`: operations were getting events of ours since the last time.
    void measure(const ClockPair& now, bool is_open);
    // The rest of the last second, at the end.
    void finish_second() { add_row(); }

    // Of our events: what they took of all threads, ever; since mark(), what they cost the thread that paid
    // most; and what that was between all marks.
    int64_t device_time_ns() const { return device_time_ns_; }
    int64_t busiest_ns() const { return busiest_ns_; }
    int64_t busiest_ever_ns() const { return marked_busiest_ns_ + busiest_ns_; }
    void mark();
    // What our own threads have taken for timed operations, ever, measured as in take_loads().
    int64_t own_ever_ns() const { return rounded(own_ever_ns_); }

    // By thread, since the last call; what our own threads take stands among them as if it were the
    // program's, measured against `budget_share` as it is against what they may take.
    std::vector<ThreadLoad> take_loads(double budget_share);

    double event_ns() const { return event_ns_; }
    Rows& rows() { return rows_; }

  private:
    struct Amount {
        uint64_t events = 0;
        double device_ns = 0;
        double host_ns = 0;
        double behind_ns = 0;  // what our events took on the device
        double wait_ns = 0;    // how long the thread waited, while a window was open

        // A thread that waits for the device waits for our events as well; recording them meanwhile costs
        // it nothing then. One that does not wait never sees what they take there.
        double slowed_ns() const { return std::max(device_ns, std::min(behind_ns, wait_ns)); }
    };
    struct Thread {
        Amount second;  // since the last row
        Amount lately;  // since the last loads
        Amount marked;  // since mark()
        Amount open;    // while a window was open, since mark()
        // Of our events, while the newest window was open that had any; -1: not known.
        double ns_per_event = -1;
    };
    struct Seen {  // of a ring
        uint64_t ring_id = 0;
        uint64_t events = 0;
        uint64_t own_ticks = 0;
        uint64_t host_ticks = 0;
        uint64_t own_events = 0;
        uint64_t wait_ticks = 0;
        uint64_t timed = 0;
    };
    // What our threads have done since the last loads.
    struct Work {
        uint64_t events = 0, timed = 0;
        int64_t ns_before = 0;
    };

    void take_ring(const Ring& ring, Seen& seen, bool is_open);
    void add_row();
    double paid_ns(const Amount& amount) const;
    double usual_ns_per_event() const;
    std::optional<ThreadLoad> take_own_load(double span_ns, double budget_share);

    ClockKind clock_;
    ClockPair first_;
    ClockPair now_;
    int64_t row_ns_;
    int64_t loads_ns_;
    double event_ns_;
    bool is_measured_ = false;
    bool has_begun_ = false;  // loads were asked for
    double ns_per_tick_ = 1;
    int64_t device_time_ns_ = 0;
    int64_t busiest_ns_ = 0;
    int64_t marked_busiest_ns_ = 0;
    double own_ns_per_timed_ = 0;  // by the newest loads
    double own_ever_ns_ = 0;
    int64_t harvest_before_ns_ = 0;
    int64_t writer_before_ns_ = 0;
    std::map<uint32_t, Thread> threads_;
    std::vector<Seen> seen_;  // by place of the ring
    Work work_;
    RowsOf<row::cost> rows_;
};

}  // namespace gpushim::shim
