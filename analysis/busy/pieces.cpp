#include "pieces.h"

#include <algorithm>
#include <map>

namespace gpushim::analysis {

namespace {

// What is in memory at one time.
constexpr int64_t kLongestPieceNs = 10'000'000'000;
constexpr int64_t kMostOperations = 100'000;
constexpr int64_t kNoBreakNs = 1'000;  // between windows
// Hours of long pieces. A damaged file may say that a window lasted for a year: then they are longer.
constexpr int64_t kMostParts = 2'000;  // of all that are parted

// Where windows, and pieces of long ones, may be parted: at the next of `cuts`, or anywhere.
class Boundaries {
  public:
    explicit Boundaries(std::span<const int64_t> cuts) : cuts_(cuts) {}
    int64_t at_or_after(int64_t t_ns) const {
        const auto cut = std::lower_bound(cuts_.begin(), cuts_.end(), t_ns);
        return cut != cuts_.end() && *cut - t_ns < kLongestPieceNs ? *cut : t_ns;
    }

  private:
    std::span<const int64_t> cuts_;
};

// So many equal parts that each is short enough, and holds few enough operations.
int64_t parts_of(const std::vector<Window>& rows, int64_t length_ns) {
    int64_t operations = 0;
    for (const Window& row : rows) operations += row.operations;
    return std::max({int64_t{1}, (length_ns + kLongestPieceNs - 1) / kLongestPieceNs,
                     (operations + kMostOperations - 1) / kMostOperations});
}

}  // namespace

// Windows that follow each other without a break are parted where a step begins, so that none is torn.
std::vector<PlannedPiece> pieces_of(std::span<const Window> windows, const std::set<int64_t>& devices,
                                    std::span<const int64_t> cuts) {
    const Boundaries boundaries(cuts);
    std::vector<PlannedPiece> pieces;
    int64_t last_end_ns = INT64_MIN, parts_left = kMostParts;
    for (size_t i = 0; i < windows.size();) {
        const Window& first = windows[i];
        std::map<int64_t, Window> rows;
        for (; i < windows.size() && windows[i].enter_ns == first.enter_ns; ++i)
            rows[windows[i].device_id] = windows[i];
        PlannedPiece piece = {{0, 0}, {}};
        for (const int64_t device : devices) {
            Window none = first;
            none.device_id = device;
            none.operations = none.timed = none.legacy_events = 0;
            piece.windows.push_back(rows.contains(device) ? rows[device] : none);
        }
        const bool goes_on = i < windows.size() && windows[i].enter_ns - first.end_ns() <= kNoBreakNs;
        const int64_t from_ns = std::max(first.enter_ns, last_end_ns);
        const int64_t until_ns = goes_on ? boundaries.at_or_after(first.end_ns()) : first.end_ns();
        last_end_ns = goes_on ? until_ns : INT64_MIN;
        const int64_t parts = std::min(parts_of(piece.windows, until_ns - from_ns), 1 + parts_left);
        parts_left -= parts - 1;
        int64_t at_ns = from_ns;
        for (int64_t part = 1; part <= parts && at_ns < until_ns; ++part) {
            const int64_t planned_ns = from_ns + (until_ns - from_ns) / parts * part;
            const int64_t end_ns = part == parts ? until_ns : boundaries.at_or_after(planned_ns);
            if (end_ns <= at_ns) continue;
            piece.host = {at_ns, std::min(end_ns, until_ns)};
            pieces.push_back(piece);
            at_ns = piece.host.end_ns;
        }
    }
    return pieces;
}

}  // namespace gpushim::analysis
