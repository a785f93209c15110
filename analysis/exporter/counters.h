// What a timeline counts beside its events, from operations in the order of their launches:
//
//   launches    L  L  L
//   stream           |──1──|  |──2──||──3──|
//   queue       1  2 3     2        1      0     launched and not over, by stream
//   busy             1     0  1            0     something runs, by GPU
//
// Memory: what is launched and not over, and what began in the last 10 ms. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <utility>
#include <vector>

namespace gpushim::analysis {

struct CountedOperation {
    int64_t device, stream, enter_ns, start_ns, end_ns;
};

class Counters {
  public:
    // Each counter's values come in order of time.
    using OnQueue = std::function<void(int64_t device, int64_t stream, int64_t at_ns, int64_t depth)>;
    using OnBusy = std::function<void(int64_t device, int64_t at_ns, bool busy)>;
    Counters(OnQueue on_queue, OnBusy on_busy)
        : on_queue_(std::move(on_queue)), on_busy_(std::move(on_busy)) {}

    void add(const CountedOperation& operation);
    void finish();

  private:
    using Ends = std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>>;
    using Span = std::pair<int64_t, int64_t>;
    struct Device {
        std::priority_queue<Span, std::vector<Span>, std::greater<>> waiting;
        Span piece = {0, 0};  // of the union, the last one; it may still grow
        bool has_piece = false;
    };
    void pass_ends(std::pair<int64_t, int64_t> stream, Ends& ends, int64_t until_ns);
    void pass_starts(int64_t id, Device& device, int64_t until_ns);
    void close(int64_t id, Device& device);

    OnQueue on_queue_;
    OnBusy on_busy_;
    std::map<std::pair<int64_t, int64_t>, Ends> queues_;  // by device and stream
    std::map<int64_t, Device> devices_;
};

}  // namespace gpushim::analysis
