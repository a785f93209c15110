// Operations in the order in which they started, from calls in the order in which they were entered. In a
// stream both orders are nearly always the same, so each has a queue, and a small heap says whose first one
// is next. Memory is that of what was launched and has not started. One thread.
//
//   calls      A1 B1 A2 A3 B2 …                 entered up to here: what starts before it is certain
//   stream A      ██A1██  ███A2███              A3 waits in its queue
//   stream B            ██B1██
//   order      A1, A2, B1
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "min_heap.h"

namespace gpushim::analysis {

template <class Op>  // has a start_ns
class StartOrder {
  public:
    explicit StartOrder(size_t streams = 0) : queues_(streams) {}

    // One that starts then: the caller fills in the rest before anything else is asked or added.
    [[gnu::always_inline]] Op& add(size_t stream, int64_t start_ns) {
        Queue& queue = queues_[stream];
        if (queue.count == 0)
            add_head(stream, start_ns);
        else if (start_ns < queue.last_start_ns)
            return add_late(start_ns);
        queue.last_start_ns = start_ns;
        return queue.push();
    }
    // The next one that starts before then, to be looked at before anything is added; nullptr: there is none.
    const Op* next(int64_t until_ns) {
        if (next_ns_ >= until_ns) return nullptr;
        Queue* const queue = next_queue_;
        if (queue == nullptr || queue->count == 1) return take_last();
        const Op* op = &queue->front();
        queue->pop();
        // Most are followed by another one of their stream.
        next_ns_ = queue->front().start_ns;
        if (next_ns_ > others_ns_) change_queue();
        return op;
    }

  private:
    struct Queue {  // a ring whose room is a power of two
        std::unique_ptr<Op[]> ops;
        size_t room = 0, first = 0, count = 0;
        int64_t last_start_ns = 0;

        const Op& front() const { return ops[first]; }
        Op& push() {
            if (count == room) grow();
            return ops[(first + count++) & (room - 1)];
        }
        void pop() {
            first = (first + 1) & (room - 1);
            --count;
        }
        void grow() {
            const size_t more = room == 0 ? 16 : 2 * room;
            auto moved = std::make_unique<Op[]>(more);
            for (size_t i = 0; i < count; ++i) moved[i] = ops[(first + i) & (room - 1)];
            ops = std::move(moved);
            room = more;
            first = 0;
        }
    };
    struct Head {
        int64_t at_ns;
        uint32_t stream;
    };
    struct Late {
        int64_t at_ns;
        uint32_t index;  // in late_ops_
    };
    // The heap is not told of the starts of a queue that stays the next one.
    void tell_heap() {
        if (next_queue_ != nullptr) heads_.set_first_at(next_ns_);
    }
    void add_head(size_t stream, int64_t start_ns) {
        tell_heap();
        heads_.push({start_ns, static_cast<uint32_t>(stream)});
        note_next();
    }
    Op& add_late(int64_t start_ns) {
        if (late_free_.empty()) {
            late_free_.push_back(static_cast<uint32_t>(late_ops_.size()));
            late_ops_.emplace_back();
        }
        const uint32_t index = late_free_.back();
        late_free_.pop_back();
        tell_heap();
        late_.push({start_ns, index});
        note_next();
        return late_ops_[index];
    }
    void change_queue() {
        heads_.replace_first({next_ns_, heads_.first().stream});
        note_next();
    }
    // Of its queue, or of those that came late.
    const Op* take_last() {
        if (next_queue_ == nullptr) return take_late();
        const Op* op = &next_queue_->front();
        next_queue_->pop();
        heads_.pop();
        note_next();
        return op;
    }
    const Op* take_late() {
        const uint32_t index = late_.first().index;
        late_.pop();
        late_free_.push_back(index);
        note_next();
        return &late_ops_[index];
    }
    void note_next() {
        const int64_t head_ns = heads_.first_at(), late_ns = late_.first_at();
        const bool is_late = late_ns < head_ns;
        next_queue_ = is_late || heads_.empty() ? nullptr : &queues_[heads_.first().stream];
        next_ns_ = std::min(late_ns, head_ns);
        others_ns_ = std::min(late_ns, heads_.second_at());
    }

    std::vector<Queue> queues_;      // by stream
    MinHeap<Head> heads_;            // the start of the first one of each queue that is not empty
    Queue* next_queue_ = nullptr;    // that the next one is the first of; nullptr: of none, it came late
    int64_t next_ns_ = INT64_MAX;    // when the next one starts
    int64_t others_ns_ = INT64_MAX;  // what starts until then in that queue is before all others
    // Those that started before one launched before them in their stream.
    MinHeap<Late> late_;
    std::vector<Op> late_ops_;
    std::vector<uint32_t> late_free_;  // places in it
};

}  // namespace gpushim::analysis
