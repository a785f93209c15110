// Rows of a timeline on which what is drawn never overlaps in part. What would goes to a row of its own
// beside it; what is a few ns over, because equal starts of a trace were moved by 1 ns, is shortened.
//
//   given     |──a──────────|            drawn   row 1    |──a──────────|
//               |─b──|   |─c────|                           |─b──|
//                                                row 2                 |─c────|
//
// Memory: as much as is open at a time, and what rows there are. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace gpushim::analysis {

struct Placed {
    int64_t tid, start_ns, end_ns;
};

struct ExtraTrack {
    int64_t pid, beside, tid;
};

class Tracks {
  public:
    // Calls and ranges of a thread, by start and, of those that begin together, the longest first.
    Placed nested(int64_t pid, int64_t tid, int64_t start_ns, int64_t end_ns);
    // Operations of a stream, one behind the other. None: too many rows would be needed.
    std::optional<Placed> in_a_row(int64_t pid, int64_t tid, int64_t start_ns, int64_t end_ns);

    const std::vector<ExtraTrack>& extra() const { return extra_; }

  private:
    struct Track {
        int64_t tid;
        std::vector<int64_t> open;    // ends, the innermost last; of a stream only the last one
        int64_t from_ns = INT64_MIN;  // of a thread: nothing may begin before
    };
    using Group = std::vector<Track>;
    Group& group(int64_t pid, int64_t tid);
    Track& another(Group& group, int64_t pid, int64_t tid);

    std::map<std::pair<int64_t, int64_t>, Group> groups_;
    std::vector<ExtraTrack> extra_;
};

}  // namespace gpushim::analysis
