#include "host_line.h"

#include <algorithm>

namespace gpushim::analysis {

namespace {

bool continues(const HostPiece& last, const HostPiece& piece, int64_t from_ns) {
    return last.until_ns == from_ns && last.what == piece.what && last.enter_ns == piece.enter_ns &&
           last.gpu == piece.gpu && last.blocked_on == piece.blocked_on &&
           last.python_line == piece.python_line && last.does == piece.does && last.stage == piece.stage;
}

// Than what was there: of two alike the one that knows what the thread was blocked on.
bool says_more(const HostPiece& piece, const HostPiece& old) {
    if (piece.what != old.what) return piece.what < old.what;
    return old.blocked_on == kNotSampled && piece.blocked_on != kNotSampled;
}

// Of two at one time the one that counts: what lies beneath may tell in which stage of loading it is. A copy
// that it waits for is one, whichever operator asked for it.
HostPiece above(const HostPiece& piece, const HostPiece& beneath) {
    if (piece.what != What::loading) return piece;
    HostPiece told = piece;
    if (beneath.what == What::staging) told.stage = LoadingStage::copies;
    if (told.stage == LoadingStage::untold) told.stage = beneath.stage;
    return told;
}

constexpr bool is_told_by_framework(What what) {
    return what == What::loading || what == What::optimizing || what == What::dispatching ||
           what == What::told_wait || what == What::python;
}

}  // namespace

void HostLine::add_untold(int64_t from_ns) {
    const bool lasts = !untold_.empty() && untold_.back().end_ns == INT64_MAX;
    if (!lasts) untold_.push_back({is_told_ ? from_ns : INT64_MIN, INT64_MAX});
}

void HostLine::add(const HostCall& call) {
    if (is_told_by_framework(call.what)) {
        if (!untold_.empty()) untold_.back().end_ns = std::min(untold_.back().end_ns, call.from_ns);
        is_told_ = true;
        is_loading_told_ = is_loading_told_ || call.what == What::loading;
    }
    put({.from_ns = call.from_ns,
         .until_ns = call.until_ns,
         .what = call.what,
         .enter_ns = call.from_ns,
         .gpu = call.gpu,
         .stage = call.stage});
}

void HostLine::add(const HostGap& gap) {
    gap_ = {gap.from_ns, gap.until_ns};
    if (!gap.running_ns || gap.until_ns <= gap.from_ns) return;
    const int64_t length_ns = gap.until_ns - gap.from_ns;
    const int64_t running_ns = std::clamp<int64_t>(*gap.running_ns, 0, length_ns);
    const int64_t ready_ns = std::clamp<int64_t>(gap.runqueue_ns, 0, length_ns - running_ns);
    int64_t at_ns = gap.from_ns;
    const auto lay = [&](What what, int64_t ns) {
        const int32_t on = what == What::running ? kNotSampled : gap.blocked_on;
        HostPiece piece = {at_ns, at_ns + ns, what, gap.from_ns, kNoGpu, on};
        if (what == What::blocked) piece.stage = gap.stage;
        put(piece);
        at_ns += ns;
    };
    if (gap.running_first) lay(What::running, running_ns);
    lay(What::blocked, length_ns - running_ns - ready_ns);
    lay(What::ready, ready_ns);
    if (!gap.running_first) lay(What::running, running_ns);
}

// Only what the gap itself has laid out says less than a sample.
void HostLine::add(const HostSample& sample) {
    if (sample.at_ns < gap_.from_ns || sample.at_ns >= gap_.until_ns) return;
    const int64_t from_ns =
        gap_.sampled_ns == INT64_MIN ? gap_.from_ns : gap_.sampled_ns + (sample.at_ns - gap_.sampled_ns) / 2;
    gap_.sampled_ns = sample.at_ns;
    samples_ns_.push_back(sample.at_ns);
    std::vector<HostPiece> over;  // the last one first
    for (; size() != 0 && pieces_.back().until_ns > from_ns; pieces_.pop_back())
        over.push_back(pieces_.back());
    for (auto old = over.rbegin(); old != over.rend(); ++old) {
        append(*old, old->from_ns, std::min(old->until_ns, from_ns));
        HostPiece piece = *old;
        const int64_t until_ns = piece.until_ns, begin_ns = std::max(piece.from_ns, from_ns);
        if (!decides(piece.what) && piece.enter_ns == gap_.from_ns && until_ns <= gap_.until_ns) {
            piece.python_line = sample.python_line;
            piece.does = sample.does;
            if (sample.stage != LoadingStage::untold) piece.stage = sample.stage;
        }
        append(piece, begin_ns, until_ns);
    }
}

void HostLine::put(const HostPiece& piece) {
    if (size() == 0 || pieces_.back().until_ns < piece.from_ns) {  // most
        if (piece.until_ns > piece.from_ns) pieces_.push_back(piece);
    } else {
        put_over(piece);
    }
}

// What overlaps it is taken off the end and comes back in order, cut where one of the two gives way.
void HostLine::put_over(const HostPiece& piece) {
    std::vector<HostPiece> over;  // the last one first
    for (; size() != 0 && pieces_.back().until_ns > piece.from_ns; pieces_.pop_back())
        over.push_back(pieces_.back());
    int64_t at_ns = piece.from_ns;
    for (auto old = over.rbegin(); old != over.rend(); ++old) {
        append(*old, old->from_ns, std::min(old->until_ns, piece.from_ns));
        append(piece, at_ns, std::min(old->from_ns, piece.until_ns));
        append(says_more(piece, *old) ? above(piece, *old) : above(*old, piece),
               std::max(old->from_ns, piece.from_ns), std::min(old->until_ns, piece.until_ns));
        append(*old, std::max(old->from_ns, piece.until_ns), old->until_ns);
        at_ns = std::max(at_ns, old->until_ns);
    }
    append(piece, at_ns, piece.until_ns);
}

void HostLine::append(const HostPiece& piece, int64_t from_ns, int64_t until_ns) {
    if (until_ns <= from_ns) return;
    if (size() != 0 && continues(pieces_.back(), piece, from_ns)) {
        pieces_.back().until_ns = until_ns;
        return;
    }
    pieces_.push_back(piece);
    pieces_.back().from_ns = from_ns;
    pieces_.back().until_ns = until_ns;
}

size_t HostLine::first_ending_after(int64_t t_ns) const {
    const auto found =
        std::partition_point(pieces_.begin() + static_cast<std::ptrdiff_t>(first_), pieces_.end(),
                             [&](const HostPiece& piece) { return piece.until_ns <= t_ns; });
    return static_cast<size_t>(found - pieces_.begin());
}

std::vector<HostPiece> HostLine::pieces(int64_t from_ns, int64_t until_ns) const {
    std::vector<HostPiece> result;
    const auto put_piece = [&](HostPiece piece, int64_t end_ns) {
        if (end_ns <= from_ns) return;
        piece.from_ns = from_ns;
        piece.until_ns = from_ns = end_ns;
        result.push_back(piece);
    };
    const HostPiece unknown = {0, 0, What::unknown, 0};
    for (size_t i = first_ending_after(from_ns); i < pieces_.size() && pieces_[i].from_ns < until_ns; ++i) {
        put_piece(unknown, pieces_[i].from_ns);
        put_piece(pieces_[i], std::min(pieces_[i].until_ns, until_ns));
    }
    put_piece(unknown, until_ns);
    return result;
}

Stretch HostLine::around(int64_t t_ns) const {
    const size_t here = first_ending_after(t_ns);
    Stretch stretch;
    for (size_t i = here; i-- > first_ && t_ns - pieces_[i].until_ns <= kBetweenOperatorsNs;)
        if (decides(pieces_[i].what)) {
            stretch.before = pieces_[i];
            break;
        }
    size_t next = here;
    while (next < pieces_.size() && !decides(pieces_[next].what)) ++next;
    if (next < pieces_.size()) stretch.after = pieces_[next];
    while (next + 1 < pieces_.size() && pieces_[next].what == What::dispatching &&
           pieces_[next + 1].from_ns == pieces_[next].until_ns)
        ++next;
    if (next < pieces_.size() && pieces_[next].what != What::dispatching) stretch.call = pieces_[next];
    return stretch;
}

std::optional<Interval> HostLine::work_of_operator(const HostPiece& piece) const {
    const size_t here = first_ending_after(piece.from_ns);
    if (here >= pieces_.size() || pieces_[here].what != What::dispatching) return {};
    const HostPiece& whole = pieces_[here];
    if (whole.until_ns - whole.from_ns < kOperatorWorkNs) return {};
    const auto is_call = [](const HostPiece& other) {
        return other.what < What::optimizing || other.what == What::other_call;
    };
    if (here + 1 < pieces_.size() && pieces_[here + 1].from_ns == whole.until_ns &&
        is_call(pieces_[here + 1]))
        return {};
    const bool is_behind_call =
        here == first_ ? first_ != 0  // what was before is forgotten
                       : pieces_[here - 1].until_ns == whole.from_ns && is_call(pieces_[here - 1]);
    if (is_behind_call) return {};
    return Interval{whole.from_ns, whole.until_ns};
}

bool HostLine::launches_in(const Interval& time) const {
    for (size_t i = first_ending_after(time.start_ns); i < pieces_.size() && pieces_[i].from_ns < time.end_ns;
         ++i)
        if (pieces_[i].what == What::launch) return true;
    return false;
}

bool HostLine::is_in_launch_loop(const HostPiece& piece, int32_t gpu) const {
    const auto is_launch = [gpu](const HostPiece& other) {
        return other.what == What::launch && other.gpu == gpu;
    };
    const auto is_between = [](const HostPiece& other) { return may_be_in_loop(other.what); };
    size_t before = first_ending_after(piece.from_ns);
    while (before > first_ && is_between(pieces_[before - 1]) &&
           piece.until_ns - pieces_[before - 1].from_ns < kLaunchLoopGapNs)
        --before;
    size_t after = first_ending_after(piece.until_ns);
    while (after < pieces_.size() && is_between(pieces_[after]) &&
           pieces_[after].until_ns - piece.from_ns < kLaunchLoopGapNs)
        ++after;
    return before > first_ && after < pieces_.size() && is_launch(pieces_[before - 1]) &&
           is_launch(pieces_[after]) &&
           pieces_[after].from_ns - pieces_[before - 1].until_ns < kLaunchLoopGapNs;
}

std::optional<HostPiece> HostLine::sync_at(int64_t from_ns, int64_t until_ns) const {
    std::optional<HostPiece> found;
    // Closed at both ends: a call that returns the moment its work is over has waited for it.
    for (size_t i = first_ending_after(from_ns - 1); i < pieces_.size() && pieces_[i].from_ns <= until_ns;
         ++i)
        if (pieces_[i].what == What::sync) found = pieces_[i];
    return found;
}

std::optional<int64_t> HostLine::launched_by(int64_t t_ns, int32_t gpu) const {
    for (size_t i = first_ending_after(t_ns);
         i-- > first_ && t_ns - pieces_[i].until_ns < kBetweenOperatorsNs;)
        if (pieces_[i].what == What::launch && pieces_[i].gpu == gpu) return pieces_[i].until_ns;
    return {};
}

bool HostLine::is_told_at(int64_t t_ns) const {
    return is_told_ && std::none_of(untold_.begin(), untold_.end(), [t_ns](const Interval& time) {
               return time.start_ns <= t_ns && t_ns < time.end_ns;
           });
}

int64_t HostLine::samples_in(int64_t from_ns, int64_t until_ns) const {
    const auto first = std::lower_bound(samples_ns_.begin(), samples_ns_.end(), from_ns);
    return std::lower_bound(first, samples_ns_.end(), until_ns) - first;
}

void HostLine::forget_before(int64_t t_ns) {
    while (!samples_ns_.empty() && samples_ns_.front() < t_ns - kBetweenOperatorsNs) samples_ns_.pop_front();
    while (!untold_.empty() && untold_.front().end_ns < t_ns) untold_.pop_front();
    // Whether the time after t lies between two launches is asked of what ended shortly before.
    while (size() != 0 && pieces_[first_].until_ns < t_ns - kBetweenOperatorsNs) ++first_;
    if (2 * first_ < pieces_.size()) return;
    pieces_.erase(pieces_.begin(), pieces_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
}

}  // namespace gpushim::analysis
