#include "tracks.h"

#include <algorithm>

namespace gpushim::analysis {

namespace {

constexpr int64_t kMovedNs = 10;                // so many rows of a trace may begin together
constexpr int64_t kFirstExtra = 1'000'000'000;  // no thread and no stream has such a number
constexpr size_t kMostBeside = 64;

}  // namespace

Tracks::Group& Tracks::group(int64_t pid, int64_t tid) {
    Group& found = groups_[{pid, tid}];
    if (found.empty()) found.push_back({tid, {}});
    return found;
}

Tracks::Track& Tracks::another(Group& group, int64_t pid, int64_t tid) {
    const int64_t number = kFirstExtra + static_cast<int64_t>(extra_.size());
    extra_.push_back({pid, tid, number});
    group.push_back({number, {}});
    return group.back();
}

Placed Tracks::nested(int64_t pid, int64_t tid, int64_t start_ns, int64_t end_ns) {
    Group& tracks = group(pid, tid);
    for (size_t i = 0;; ++i) {
        Track& track = i < tracks.size() ? tracks[i] : another(tracks, pid, tid);
        std::vector<int64_t>& open = track.open;
        int64_t& from_ns = track.from_ns;
        from_ns = std::max(from_ns, start_ns);
        while (!open.empty() && open.back() <= from_ns) open.pop_back();
        // What goes on begins where the one before it ended, if that is all that is between them.
        while (!open.empty() && open.back() < end_ns && open.back() - start_ns <= kMovedNs) {
            from_ns = open.back();
            open.pop_back();
        }
        Placed placed = {track.tid, from_ns, std::max(from_ns, end_ns)};
        if (!open.empty() && end_ns > open.back()) {
            if (end_ns - open.back() > kMovedNs) continue;
            placed.end_ns = open.back();
        }
        open.push_back(placed.end_ns);
        return placed;
    }
}

std::optional<Placed> Tracks::in_a_row(int64_t pid, int64_t tid, int64_t start_ns, int64_t end_ns) {
    Group& tracks = group(pid, tid);
    for (size_t i = 0; i < kMostBeside; ++i) {
        Track& track = i < tracks.size() ? tracks[i] : another(tracks, pid, tid);
        const int64_t last_ns = track.open.empty() ? start_ns : track.open.back();
        if (start_ns < last_ns - kMovedNs || (start_ns < last_ns && end_ns < last_ns)) continue;
        track.open = {end_ns};
        return Placed{track.tid, std::max(start_ns, last_ns), end_ns};
    }
    return {};
}

}  // namespace gpushim::analysis
