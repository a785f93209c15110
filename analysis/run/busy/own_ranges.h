// The program's own ranges (NVTX, annotations) as its threads went through them, by the trace's clock: which
// one was the innermost on a thread at a moment.
//
//   thread    |──── epoch ──────────────────|
//                 |─ log ─|   |─ data ─|
//   tiles     |ep.|log    |ep.|data    |ep. |
//
// Where only one thread makes ranges and others launch (a backward pass, a pool), its ranges are what the
// program says that it does. A range that threads share (nvtxRangeStart) is open on none, and a profiler's
// mark of a step (ProfilerStep#7) is none. Markers are read as far as calls have been seen. One thread.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../../idle/attribute.h"
#include "../../sqlite/database.h"
#include "../../trace/inputs.h"

namespace gpushim::analysis {

struct OwnRangeName {
    std::optional<std::string> domain, name;  // domain: none is the default one; name: none was given
};

class OwnRanges {
  public:
    explicit OwnRanges(const Trace* trace);  // which must outlive this; null: there is none

    bool are_recorded() const { return marker_.has_value() || !lines_.empty(); }
    void read_until(int64_t now_ns);
    RangeHere at(int64_t thread, int64_t t_ns, int64_t launch_ns) const;
    void forget_before(int64_t t_ns);
    const std::vector<OwnRangeName>& names() const { return names_; }  // by RangeHere::range

  private:
    using Key = std::pair<int64_t, int64_t>;  // domain, name
    struct Open {
        Key key;
        int32_t range;
        PythonDoes does;  // and the number of the range whose name tells it
        int64_t number, teller;
    };
    struct Tile {
        int64_t from_ns, until_ns;
        int32_t range;
        PythonDoes does;
        int64_t number, teller;                                 // of the range; those of one have the same
        int64_t over_ns = INT64_MAX, told_over_ns = INT64_MAX;  // when these two ended
    };
    struct Line {
        std::deque<Open> open;   // the innermost last
        std::deque<Tile> tiles;  // by time; the last one may go on
    };
    struct Marker {
        int64_t at_ns, thread;
        bool begins;
        Key key;
    };
    static constexpr size_t kMostTiles = 1 << 19, kMostNames = 10'000;
    static constexpr size_t kMostOpen = 1024;  // of a program that never ends its ranges the newest

    void next_marker();
    void take(const Marker& marker);
    void pop(Line& line, const Marker& marker);
    void go_on(Line& line, int64_t at_ns);
    int32_t range_of(const Key& key);
    const Line* line_of(int64_t thread) const;

    const Trace* trace_;
    std::optional<Query> markers_;                // none are left
    std::optional<Marker> marker_;                // the next one
    std::unordered_map<int64_t, Line> lines_;     // by thread
    std::vector<std::pair<Key, int32_t>> known_;  // sorted
    std::vector<OwnRangeName> names_;
    std::vector<PythonDoes> does_;  // by range
    int64_t ranges_ = 0;
};

}  // namespace gpushim::analysis
