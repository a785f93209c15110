// Which thread of spans a thread of calls is, where a profiler numbers the two differently, and what else a
// thread was in while it was in nothing of its own. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "../interval/interval.h"
#include "host_spans.h"

namespace gpushim::analysis {

// By time: a call lies inside of the span that makes it. A thread of calls is that thread of spans of which
// the innermost spans that hold its calls are clearly the shortest: others hold them by chance only, or
// because they wait for them.
//
//   calls          | |  |       | | |
//   spans 1      |══════|      |══════|        these
//   spans 2   |════════════════════════|       it waits
//
// Memory and time are bounded: by kMostCalls of each of kMostThreads, and kMostVisits.
class ThreadJoin {
  public:
    void called(int64_t thread, int64_t enter_ns, int64_t exit_ns);
    void inside(const HostSpan& span);  // by thread; after all calls
    // The thread of calls of a thread of spans. Those that have spans of their own are in none.
    std::map<int64_t, int64_t> joined();
    // From the first call of any thread to the last; without one it ends before it begins.
    const Interval& calls() const { return all_; }

  private:
    static constexpr size_t kMostCalls = 64, kFewestCalls = 4, kMostThreads = 1024;
    static constexpr int64_t kClearly = 2, kMostVisits = 100'000'000;

    struct Sampled {
        std::vector<std::pair<int64_t, int64_t>> calls;  // every `every`-th
        size_t every = 1, seen = 0;
    };
    struct Call {
        int64_t enter_ns, exit_ns, thread, shortest_ns;  // of the spans around it
    };
    struct Found {  // of two candidates the mean length, the shorter first
        int64_t thread = 0, mean_ns = INT64_MAX, next_ns = INT64_MAX;
    };

    void lay_out();
    void end_thread();

    Interval all_ = {INT64_MAX, INT64_MIN};
    std::map<int64_t, Sampled> sampled_;
    std::vector<Call> calls_;  // by enter_ns
    std::map<int64_t, Found> found_;
    std::set<int64_t> own_;
    int64_t thread_ = 0, visits_ = 0;
    bool is_laid_out_ = false, is_open_ = false;
};

// The spans of each thread, and where it is in none, from the first call to the last, those of another one.
//
//   own        |ff|      |fff|
//   other    |ppppppppppppppppp|
//   calls        c        c
//   given      |ff|pppppp|fff|
class HostFill {
  public:
    HostFill(const Interval& calls, std::function<void(const HostSpan&)> give)
        : calls_(calls), give_(std::move(give)) {}

    void other(const HostSpan& span);  // laid out, by start; before all that are the threads' own
    void own(const HostSpan& span);    // laid out, by thread, each by start
    void end_thread();
    void alone(int64_t thread);  // one that has none of its own

  private:
    static constexpr size_t kMostOthers = 1'000'000;  // that are kept, and that are given

    void fill_until(int64_t until_ns);

    const Interval calls_;
    std::function<void(const HostSpan&)> give_;
    std::vector<HostSpan> others_;
    size_t next_ = 0, given_ = 0;
    int64_t thread_ = 0, at_ns_ = INT64_MIN;
    bool is_open_ = false, is_too_much_ = false;
};

}  // namespace gpushim::analysis
