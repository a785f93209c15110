// What ran on one GPU at the same time, and for how long: a sweep over its operations in order of start.
//
//   stream 1   ████compute████                 ███
//   stream 2        ██wait█▒▒transfer▒▒
//   classes   0|  1 | 1+4 |1+2|   2   |    0   | 1 |      every instant of a segment is in one sum
//
// A collective waits for other ranks first, where it is known for how long, and transfers then. Memory is
// that of its sums. One thread.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "../pass/device_order.h"
#include "../pass/step_cuts.h"
#include "../sql/written_steps.h"

namespace gpushim::analysis {

constexpr uint32_t kTransferBit = 2, kPeerWaitBit = 4, kComputeBits = 257;

// The bit of a class in `activity`.
constexpr uint32_t bit_of(OperationClass type) {
    // compute, comm, h2d, d2h, d2d, p2p, copy, memset, graph
    constexpr uint32_t kBits[] = {1, kTransferBit, 8, 16, 32, 64, 512, 128, 256};
    return kBits[static_cast<size_t>(type)];
}

using ActivityRow = WrittenGpu::Activity;

class ActivitySweep {
  public:
    explicit ActivitySweep(bool collects_busy = false)
        : step_sums_(kMasks), rest_sums_(kMasks), collects_(collects_busy) {}

    void begin(std::span<const Segment> segments);  // in order of time; none: nothing is summed
    void add(const DeviceOp& op) {                  // in order of start, within a piece
        if (op.end_ns <= op.start_ns) {
            ++invalid_;
            return;
        }
        run_to(op.start_ns);
        if (op.type == OperationClass::comm && op.wait_ns > 0)
            open(op.start_ns, kPeerWaitBit, std::min(op.end_ns, op.start_ns + op.wait_ns), op.end_ns);
        else
            open(op.start_ns, bit_of(op.type), op.end_ns, op.end_ns);
    }
    // Nothing more starts before then.
    void run_to(int64_t t_ns) {
        while (!ends_.empty() && ends_.first().at_ns <= t_ns) close_first();
        advance(t_ns);
    }
    void end();

    // Where busy spans are collected: those since it was asked last, up to the last run_to; by time.
    void take_busy(std::vector<Interval>& into);

    int64_t invalid() const { return invalid_; }  // ended before they began, or as they did
    std::vector<ActivityRow> finish();            // of all pieces; those of kNoStep last

  private:
    static constexpr size_t kMasks = 1024;
    void put_rows(std::vector<int64_t>& sums, int32_t step);
    struct End {
        int64_t at_ns;
        int64_t transfer_until_ns;  // later than at_ns: it was a wait
        uint32_t bit;
    };
    // Without branches: which class comes or goes next is hard to foretell.
    void count(uint32_t bit, uint32_t change) {
        uint32_t& count = counts_[static_cast<size_t>(std::countr_zero(bit))];
        count += change;
        mask_ = (mask_ & ~bit) | (count != 0 ? bit : 0);
    }
    void open(int64_t t_ns, uint32_t bit, int64_t at_ns, int64_t transfer_until_ns) {
        busy_from_ns_ = mask_ == 0 ? t_ns : busy_from_ns_;
        count(bit, 1);
        most_mask_ = std::max(most_mask_, mask_);
        ends_.push({at_ns, transfer_until_ns, bit});
    }
    void close_first() {
        const End end = ends_.first();
        advance(end.at_ns);
        count(end.bit, ~uint32_t{0});
        if (end.transfer_until_ns > end.at_ns) return open_transfer(end);
        ends_.pop();
        if (collects_ && mask_ == 0) busy_.push_back({busy_from_ns_, end.at_ns});
    }
    void open_transfer(const End& wait) {
        count(kTransferBit, 1);
        most_mask_ = std::max(most_mask_, mask_);
        ends_.replace_first({wait.transfer_until_ns, wait.transfer_until_ns, kTransferBit});
    }
    void advance(int64_t t_ns) {
        if (t_ns <= at_ns_) return;
        if (t_ns > segment_until_ns_) return advance_over(t_ns);
        sums_[mask_] += t_ns - at_ns_;
        at_ns_ = t_ns;
    }
    void advance_over(int64_t t_ns);
    void enter_segment();
    void leave_segment();

    std::span<const Segment> segments_;
    size_t segment_ = 0;
    int64_t segment_until_ns_ = INT64_MIN;
    int64_t at_ns_ = INT64_MAX;  // summed up to here
    uint32_t mask_ = 0;          // what runs
    uint32_t most_mask_ = 0;     // of all so far
    std::array<uint32_t, 10> counts_{};
    MinHeap<End> ends_;  // of what runs
    int64_t* sums_ = nullptr;
    std::vector<int64_t> step_sums_, rest_sums_;  // by mask
    std::vector<ActivityRow> rows_;
    int64_t invalid_ = 0;
    bool collects_;
    int64_t busy_from_ns_ = 0;
    std::vector<Interval> busy_;
};

}  // namespace gpushim::analysis
