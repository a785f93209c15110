// Which operations of one GPU ran beside which: for each, whether a collective's kernel ran at the same time,
// and how long it was the only one. Operations come in order of enter and may start in any order behind it;
// they are held back until whatever could have started before them is known. Memory is that of the queue's
// depth. One thread.
//
//   compute   ███1███      ███2███             1 and 2 ran beside a collective, 3 did not
//   comm         ████████████                  alone: 1 for 3, 2 for 4, 3 for all
//   copy                           ███3███
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "../pass/start_order.h"

namespace gpushim::analysis {

struct Ran {
    int64_t start_ns, end_ns;
    uint64_t who;  // the caller's
    bool is_comm = false;
    bool beside_comm = false;
    int64_t alone_ns = 0;
    int64_t unsure_ns = 0;  // by so much it may have been shorter
};

template <class Told>  // has started(ran), in order of start, and ended(ran), in order of end
class Concurrency {
  public:
    explicit Concurrency(Told told, size_t streams = 1) : told_(std::move(told)), waiting_(streams) {}

    // Launched then; whatever comes later was launched later.
    [[gnu::always_inline]] void add(int64_t enter_ns, const Ran& ran, size_t stream = 0) {
        waiting_.add(stream, ran.start_ns) = ran;
        start_until(enter_ns + 1);
    }
    void finish() {  // nothing comes any more; a new time may begin
        start_until(INT64_MAX);
        end_until(INT64_MAX);
        now_ns_ = INT64_MIN;
    }

  private:
    void pass(int64_t t_ns) {
        if (t_ns <= now_ns_) return;
        if (active_.size() == 1) active_.front().alone_ns += t_ns - now_ns_;
        now_ns_ = t_ns;
    }
    void end_until(int64_t t_ns) {
        while (first_end_ns_ <= t_ns && !active_.empty()) end_first();
    }
    void end_first() {
        Ran& first = active_[first_];
        pass(first.end_ns);
        active_comm_ -= first.is_comm;
        told_.ended(first);
        first = active_.back();
        active_.pop_back();
        find_first();
    }
    void find_first() {
        first_end_ns_ = INT64_MAX;
        first_ = 0;
        size_t i = 0;
        for (const Ran& ran : active_) {
            if (ran.end_ns < first_end_ns_) {
                first_end_ns_ = ran.end_ns;
                first_ = i;
            }
            ++i;
        }
    }
    void start_until(int64_t t_ns) {
        while (const Ran* next = waiting_.next(t_ns)) start(*next);
    }
    void start(const Ran& ran) {
        end_until(ran.start_ns);
        pass(ran.start_ns);
        told_.started(ran);
        if (ran.is_comm) {
            for (Ran& other : active_) other.beside_comm = true;
            ++active_comm_;
        }
        if (ran.end_ns < first_end_ns_) {
            first_end_ns_ = ran.end_ns;
            first_ = active_.size();
        }
        active_.push_back(ran);
        // Of two collectives' kernels at one time both ran beside one.
        active_.back().beside_comm = active_comm_ > size_t{ran.is_comm};
    }

    Told told_;
    StartOrder<Ran> waiting_;
    std::vector<Ran> active_;
    int64_t first_end_ns_ = INT64_MAX;  // when the first of them ends …
    size_t first_ = 0;                  // … and which that is
    int64_t now_ns_ = INT64_MIN;
    size_t active_comm_ = 0;
};

}  // namespace gpushim::analysis
