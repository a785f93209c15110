// Which operations of one GPU ran beside which: for each, whether a collective's kernel ran at the same time,
// and how long it was the only one. Operations come in order of enter and may start in any order behind it;
// they are held back until whatever could have started before them is known. Memory is that of the queue's
// depth. One thread.
//
//   compute   ███1███      ███2███             1 and 2 ran beside a collective, 3 did not
//   comm         ████████████                  alone: 1 for 3, 2 for 4, 3 for all
//   copy                           ███3███
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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

class Concurrency {
  public:
    using Take = std::function<void(const Ran&)>;
    // `started` gets them in order of start, `ended` in order of end.
    Concurrency(Take started, Take ended, size_t streams = 1)
        : started_(std::move(started)), ended_(std::move(ended)), waiting_(streams) {}

    // Launched then; whatever comes later was launched later.
    void add(int64_t enter_ns, const Ran& ran, size_t stream = 0);
    void finish();  // nothing comes any more; a new time may begin

  private:
    void start(const Ran& ran);
    void advance(int64_t t_ns);  // ends what ends until then
    void pass(int64_t t_ns);

    Take started_, ended_;
    StartOrder<Ran> waiting_;
    std::vector<Ran> active_;
    int64_t now_ns_ = INT64_MIN;
    size_t active_comm_ = 0;
};

}  // namespace gpushim::analysis
