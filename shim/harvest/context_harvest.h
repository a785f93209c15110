// What the operations of one context that got events of ours did on its device: reads the stamps of those
// that are done, gives the events back, and turns stamps into times once the device's clock is known on both
// sides. The driver's thread while it has work, else the writer's (driver_thread.h); visit() is between
// enter_context() and leave_context().
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../rows/observer.h"
#include "../schema/rows.h"
#include "../timing/event_pool.h"
#include "clock_probe.h"
#include "queue_delay.h"
#include "stamp_gaps.h"

namespace gpushim::shim {

struct OperationRow {
    TimedOperation operation;
    OperationTimes times;
};

class ContextHarvest {
  public:
    // What a device's stamps are is asked when it is known which it is.
    using GapsOf = std::function<StampGaps(int64_t device)>;
    ContextHarvest(uint32_t number, EventPool& pool, const DriverCalls& calls, GapsOf gaps_of)
        : number_(number), pool_(pool), calls_(calls), gaps_of_(std::move(gaps_of)) {}

    void add(const TimedOperation& operation);

    // Makes the context current, and does what there is to do, but not for long. False: it is over here, the
    // pool says why.
    bool visit(const Moment& now);
    // Without the driver: what is not read has no device times.
    void give_up();

    // Times of operations that are known since the last call.
    std::vector<OperationRow> take_rows();

    bool has_work() const { return pending_ != 0 || !stamped_.empty(); }
    bool is_behind() const {
        return is_behind_ || is_filling_;
    }                           // there was more to do than a visit has time for
    int64_t oldest_ns() const;  // begin of the oldest operation without times; or for ever
    uint32_t number() const { return number_; }
    int64_t device() const { return device_; }  // ordinal; kNull: not known yet
    const ClockProbe& anchors() const { return anchors_; }
    const QueueDelay& delays() const { return delays_; }
    bool is_calibrated() const { return device_ == kNull || gaps_.is_calibrated; }
    const StampGaps& gaps() const { return gaps_; }  // of a device that is known
    bool has_clock() const { return anchors_.is_open(); }
    row::device_clock clock_row() const;  // of a clock that there is
    EventPool& pool() const { return pool_; }

  private:
    struct Stamped {
        TimedOperation operation;
        double start_ns, before_ns, end_ns;  // of the device's clock
        bool has_start, has_before;
        int64_t rounding_ns;  // of any of them
        int64_t seen_ns;
    };
    struct Held {
        TimedOperation operation;
        Stamps stamps;
        int64_t since_ns;
    };
    struct Stream {
        std::deque<TimedOperation> pending;
        double end_ns = 0;  // of the newest that is done
        int64_t rounding_ns = 0;
        int64_t exit_ns = 0;  // when its call returned
        bool has_end = false;
    };
    CUresult work(const Moment& now);
    CUresult fill_pool();
    CUresult anchor(const Moment& now);
    CUresult take_anchor();  // the device may be too busy to say
    void watch(int64_t now_ns);
    CUresult harvest(Stream& stream, int64_t until_ns);
    CUresult count_done(const Stream& stream, size_t& done);
    CUresult query(const Stream& stream, size_t index);
    CUresult harvest_or_drop(Stream& stream, int64_t until_ns);
    CUresult read(Stream& stream, const TimedOperation& operation);
    Stamps stamps_of(const Stamped& stamped) const;
    EventFacts event_facts() const;
    bool is_sure(const Stamps& stamps) const;
    void map_stamps();
    void hold(const Held& held);
    void let_go();
    void settle(const Moment& now);
    void wish(const Moment& now);
    CUresult failed(const char* call, CUresult result);

    const uint32_t number_;
    EventPool& pool_;
    const DriverCalls& calls_;
    const GapsOf gaps_of_;
    StampGaps gaps_ = {};
    int64_t device_ = kNull;
    ClockProbe anchors_;
    QueueDelay delays_;
    std::unordered_map<int64_t, Stream> streams_;
    std::vector<Stamped> stamped_;
    std::deque<Held> held_;
    // Of held_, from each place on the oldest: of thousands it is not looked for in every pass.
    std::deque<int64_t> oldest_held_;
    std::vector<OperationRow> rows_;
    size_t pending_ = 0;
    uint32_t misses_ = 0;
    uint64_t turns_ = 0;      // of the pool, at the newest anchor
    uint64_t last_what_ = 0;  // of an operation that began on an empty queue
    int wishes_ = 0;
    int64_t wishes_since_ns_ = INT64_MIN / 2;
    int64_t wished_ns_ = INT64_MIN / 2;
    bool is_waited_for_ = false;  // the program waits for this visit
    bool is_behind_ = false;      // there is more to read
    bool is_filling_ = false;     // the pool has not yet what it usually has
    const char* failed_call_ = "";
    size_t asked_ = 0;  // which of a stream's pending operations the last question was about
};

}  // namespace gpushim::shim
