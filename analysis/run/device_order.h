// The operations of one GPU in the order in which they started, from calls in the order in which they were
// entered. In a stream both orders are nearly always the same, so each has a queue, and a small heap says
// whose first one is next. Memory is that of what was launched and has not started. One thread.
//
//   calls      A1 B1 A2 A3 B2 …                 entered up to here: what starts before it is certain
//   stream A      ██A1██  ███A2███              A3 waits in its queue
//   stream B            ██B1██
//   order      A1, A2, B1
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "../trace/call.h"
#include "min_heap.h"

namespace gpushim::analysis {

struct DeviceOp {
    int64_t start_ns, end_ns;
    int64_t enter_ns, exit_ns;  // of its launch
    int64_t wait_ns;            // of a collective; kNotRecorded
    // How much earlier and later its start and end may have been; at most 2 s.
    int32_t start_before_ns, start_after_ns, end_before_ns, end_after_ns;
    uint32_t thread;  // the caller's number for it
    OperationClass type;
    bool waits;  // the caller knows of something that it waited for
};
static_assert(sizeof(DeviceOp) == 64);

class DeviceOrder {
  public:
    explicit DeviceOrder(size_t streams = 0) : queues_(streams) {}

    // One that starts then: the caller fills in the rest before anything else is asked or added.
    DeviceOp& add(size_t stream, int64_t start_ns) {
        Queue& queue = queues_[stream];
        if (queue.count == 0)
            heads_.push({start_ns, static_cast<uint32_t>(stream)});
        else if (start_ns < queue.last_start_ns)
            return add_late(start_ns);
        queue.last_start_ns = start_ns;
        return queue.push();
    }
    // The next one that starts before then, to be looked at before anything is added; nullptr: there is none.
    const DeviceOp* next(int64_t until_ns) {
        const int64_t head_ns = heads_.empty() ? INT64_MAX : heads_.first().at_ns;
        if (!late_.empty() && late_.first().at_ns < head_ns) return next_late(until_ns);
        if (head_ns >= until_ns) return nullptr;
        const uint32_t stream = heads_.first().stream;
        Queue& queue = queues_[stream];
        const DeviceOp* op = &queue.front();
        queue.pop();
        if (queue.count != 0)
            heads_.replace_first({queue.front().start_ns, stream});
        else
            heads_.pop();
        return op;
    }

  private:
    struct Queue {  // a ring whose room is a power of two
        std::unique_ptr<DeviceOp[]> ops;
        size_t room = 0, first = 0, count = 0;
        int64_t last_start_ns = 0;

        const DeviceOp& front() const { return ops[first]; }
        DeviceOp& push() {
            if (count == room) grow();
            return ops[(first + count++) & (room - 1)];
        }
        void pop() {
            first = (first + 1) & (room - 1);
            --count;
        }
        void grow();
    };
    struct Head {
        int64_t at_ns;
        uint32_t stream;
    };
    struct Late {
        int64_t at_ns;
        uint32_t index;  // in late_ops_
    };
    DeviceOp& add_late(int64_t start_ns);
    const DeviceOp* next_late(int64_t until_ns);

    std::vector<Queue> queues_;  // by stream
    MinHeap<Head> heads_;        // the start of the first one of each queue that is not empty
    // Those that started before one launched before them in their stream.
    MinHeap<Late> late_;
    std::vector<DeviceOp> late_ops_;
    std::vector<uint32_t> late_free_;  // places in it
};

}  // namespace gpushim::analysis
