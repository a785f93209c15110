#include "pieces.h"

#include <algorithm>
#include <map>
#include <optional>

#include "../to_int64.h"

namespace gpushim::analysis {

namespace {

// What is in memory at one time. A longer step is a piece all the same, where its operations are not too
// many.
constexpr int64_t kLongestPieceNs = 10'000'000'000, kLongestStepNs = 60 * kLongestPieceNs;
constexpr int64_t kMostOperations = 100'000, kMostOfAStep = 4 * kMostOperations;
constexpr int64_t kNoBreakNs = 1'000;  // between windows
// Hours of long pieces. A damaged file may say that a window lasted for a year: then they are longer.
constexpr int64_t kMostParts = 2'000;   // of all that are parted
constexpr size_t kMostWindows = 1'000;  // that are looked at for the end of a long step

// Where windows, and pieces of long ones, may be parted: at the next of `cuts`, or anywhere.
class Boundaries {
  public:
    explicit Boundaries(std::span<const int64_t> cuts) : cuts_(cuts) {}
    std::optional<int64_t> next(int64_t t_ns) const {
        const auto cut = std::lower_bound(cuts_.begin(), cuts_.end(), t_ns);
        return cut != cuts_.end() && *cut - t_ns < kLongestStepNs ? std::optional(*cut) : std::nullopt;
    }
    int64_t at_or_after(int64_t t_ns, int64_t within_ns = kLongestPieceNs) const {
        const auto cut = next(t_ns);
        return cut && *cut - t_ns < within_ns ? *cut : t_ns;
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

int64_t scaled(int64_t all, const Window& of, int64_t length_ns) {
    if (of.dur_ns <= 0) return 0;
    return to_int64(static_cast<double>(all) *
                    std::min(1.0, static_cast<double>(length_ns) / static_cast<double>(of.dur_ns)));
}

int64_t overlap_ns(const Window& window, Interval host) {
    return std::max<int64_t>(
        0, std::min(window.end_ns(), host.end_ns) - std::max(window.enter_ns, host.start_ns));
}

// How far behind a point in the window a piece may go on, by how dense its operations are.
int64_t reach_ns(const std::vector<Window>& rows) {
    double operations = 0, length_ns = 0;
    for (const Window& row : rows) {
        operations += static_cast<double>(row.operations);
        length_ns = std::max(length_ns, static_cast<double>(row.dur_ns));
    }
    const double most = operations > 0 ? kMostOfAStep / operations * length_ns : kLongestStepNs;
    return to_int64(std::clamp<double>(most, kLongestPieceNs, kLongestStepNs));
}

// What the windows say of a piece that several of them make, as one window.
void take_others(PlannedPiece& piece, std::span<const Window> windows) {
    for (Window& row : piece.windows) {
        row.operations = row.timed = row.legacy_events = row.own_host_ns = 0;
        for (const Window& window : windows) {
            if (window.enter_ns >= piece.host.end_ns) break;
            const int64_t in_it_ns = overlap_ns(window, piece.host);
            if (window.device_id != row.device_id || in_it_ns == 0) continue;
            row.operations += scaled(window.operations, window, in_it_ns);
            row.timed += scaled(window.timed, window, in_it_ns);
            row.legacy_events += scaled(window.legacy_events, window, in_it_ns);
            row.own_host_ns += scaled(window.own_host_ns, window, in_it_ns);
        }
        row.dur_ns = row.planned_ns = piece.host.length_ns();
    }
}

// The windows of all devices that began together: a row for each device.
struct Together {
    Window first;
    std::vector<Window> rows;
    int64_t operations = 0;
    std::span<const Window> behind;
    bool goes_on = false;  // without a break

    int64_t end_ns() const { return first.end_ns(); }
};

Together first_of(std::span<const Window> windows, const std::set<int64_t>& devices) {
    Together all = {windows[0], {}, 0, {}};
    std::map<int64_t, Window> rows;
    size_t i = 0;
    for (; i < windows.size() && windows[i].enter_ns == all.first.enter_ns; ++i) {
        rows[windows[i].device_id] = windows[i];
        all.operations += windows[i].operations;
    }
    for (const int64_t device : devices) {
        Window none = all.first;
        none.device_id = device;
        none.operations = none.timed = none.legacy_events = 0;
        all.rows.push_back(rows.contains(device) ? rows[device] : none);
    }
    all.behind = windows.subspan(i);
    all.goes_on = !all.behind.empty() && all.behind[0].enter_ns - all.end_ns() <= kNoBreakNs;
    return all;
}

// Where the step ends in which these windows end, if windows go on until then, and not too much is in them.
//
//   windows   |────|────|────|────|          each shorter than the step
//   cuts        |               |            both in reach: one piece
std::optional<int64_t> end_of_step(const Boundaries& boundaries, const Together& these) {
    int64_t end_ns = these.end_ns(), operations = these.operations;
    const auto cut = boundaries.next(end_ns);
    if (!cut) return {};
    for (const Window& window : these.behind.first(std::min(these.behind.size(), kMostWindows))) {
        operations += window.operations;
        if (window.enter_ns - end_ns > kNoBreakNs || operations > kMostOfAStep) return {};
        end_ns = std::max(end_ns, window.end_ns());
        if (end_ns >= *cut) return cut;
    }
    return {};
}

class Planner {
  public:
    explicit Planner(std::span<const int64_t> cuts) : boundaries_(cuts) {}

    // `windows`: these and those behind them.
    void take(const Together& these, std::span<const Window> windows) {
        const int64_t from_ns = std::max(these.first.enter_ns, last_end_ns_);
        int64_t until_ns = these.goes_on ? boundaries_.at_or_after(these.end_ns()) : these.end_ns();
        const bool tears_a_step = these.goes_on && until_ns == these.end_ns() && from_ns < until_ns;
        const auto step_end_ns = tears_a_step ? end_of_step(boundaries_, these) : std::nullopt;
        if (step_end_ns) {
            until_ns = *step_end_ns;
            pieces_.push_back({{from_ns, until_ns}, these.rows});
            take_others(pieces_.back(), windows);
        } else {
            part({from_ns, until_ns}, these.rows);
        }
        last_end_ns_ = these.goes_on ? std::max(last_end_ns_, until_ns) : INT64_MIN;
    }
    std::vector<PlannedPiece> take_pieces() { return std::move(pieces_); }

  private:
    void part(Interval host, const std::vector<Window>& rows) {
        const int64_t length_ns = host.length_ns();
        const int64_t parts = std::min(parts_of(rows, length_ns), 1 + parts_left_);
        const int64_t within_ns = reach_ns(rows);
        parts_left_ -= parts - 1;
        int64_t at_ns = host.start_ns;
        for (int64_t i = 1; i <= parts && at_ns < host.end_ns; ++i) {
            const int64_t planned_ns = host.start_ns + length_ns / parts * i;
            const int64_t end_ns = i == parts ? host.end_ns : boundaries_.at_or_after(planned_ns, within_ns);
            if (end_ns <= at_ns) continue;
            pieces_.push_back({{at_ns, std::min(end_ns, host.end_ns)}, rows});
            at_ns = pieces_.back().host.end_ns;
        }
    }

    const Boundaries boundaries_;
    std::vector<PlannedPiece> pieces_;
    int64_t last_end_ns_ = INT64_MIN, parts_left_ = kMostParts;
};

}  // namespace

// Windows that follow each other without a break are parted where a step begins, so that none is torn.
std::vector<PlannedPiece> pieces_of(std::span<const Window> windows, const std::set<int64_t>& devices,
                                    std::span<const int64_t> cuts) {
    Planner planner(cuts);
    while (!windows.empty()) {
        const Together these = first_of(windows, devices);
        planner.take(these, windows);
        windows = these.behind;
    }
    return planner.take_pieces();
}

}  // namespace gpushim::analysis
