// Ranges of threads, and what is launched in them. Markers and launches come in order of time, what ran in
// order of its start; a range is complete when it has ended and all of it has run. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gpushim::analysis {

struct RangeSums {
    int64_t ranges = 0, operations = 0, timed = 0, sum_ns = 0;
    int64_t whole = 0, span_ns = 0, idle_ns = 0;
};
constexpr int64_t kDefaultDomain = -1;

class OpenRanges {
  public:
    using Name = std::pair<int64_t, int64_t>;  // domain, name

    explicit OpenRanges(size_t gpus) : gpus_(gpus) {}

    void push(int64_t thread, const Name& name);
    void pop(int64_t thread, const Name& name);  // of the innermost that is called so; none: nothing
    // What is open on a thread, as a number that ran() or untimed() is given later, once.
    int32_t launched(int64_t thread);
    void ran(int32_t in, size_t gpu, int64_t start_ns, int64_t end_ns);
    void untimed(int32_t in, size_t gpu);
    void close_all();

    const std::map<std::pair<size_t, Name>, RangeSums>& sums() const { return sums_; }  // by GPU

  private:
    static constexpr int32_t kNone = -1;
    struct OnGpu {  // of one range
        size_t gpu;
        int64_t first_ns, last_end_ns, idle_before_ns, untimed_before;
        int64_t operations, timed, sum_ns, idle_ns;
        bool is_whole;
    };
    struct Range {
        Name name;
        int32_t parent = kNone;
        int32_t users = 0;  // that it is open, ranges in it, and operations that have not run
        bool counts = true;
        std::vector<OnGpu> on = {};
    };
    struct Gpu {
        int64_t covered_ns = INT64_MIN, idle_ns = 0, untimed = 0;
    };

    OnGpu& on(Range& range, size_t gpu);
    void release(int32_t range);
    void count(const Range& range);

    std::vector<Gpu> gpus_;
    std::vector<Range> ranges_;
    std::vector<int32_t> free_;
    std::unordered_map<int64_t, std::vector<int32_t>> open_;  // by thread, the innermost last
    std::map<std::pair<size_t, Name>, RangeSums> sums_;
};

}  // namespace gpushim::analysis
