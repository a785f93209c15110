#include "trial.h"

#include <algorithm>
#include <cstdlib>

namespace gpushim::analysis {

void CueDistance::next(bool has_cue) {
    ++since_;
    if (!has_cue) return;
    if (cues_++ != 0) ++times_[since_ < times_.size() ? since_ : 0];
    since_ = 0;
}

int CueDistance::usual() const {
    constexpr double kUsual = 0.8;
    if (cues_ < 3) return 0;
    const auto most = std::max_element(times_.begin() + 1, times_.end());
    if (static_cast<double>(*most) < kUsual * static_cast<double>(cues_ - 1)) return 0;
    return static_cast<int>(most - times_.begin());
}

void Trial::begin_piece(const Tally& running, int64_t at_ns) {
    if (has_begun_) {
        const Tally piece = running - begun_;
        const int64_t from = begun_.launches, from_ns = begun_ns_;
        if (ends_start_up(piece)) *this = without_pieces(begun_);
        end_piece(piece, {piece.signature, from, running.launches, from_ns}, at_ns - from_ns);
    } else {
        before_ = running.launches;
    }
    has_begun_ = true;
    begun_ = running;
    begun_ns_ = at_ns;
}

// A piece that outweighs all before it: a model's weights, for one, go to the device in as many copies, and
// cut nothing but the start-up.
bool Trial::ends_start_up(const Tally& piece) const {
    return pieces_ > 0 && piece.launches > 2 * covered_launches();
}

Trial Trial::without_pieces(const Tally& from) const {
    Trial same(anchor_, is_lead_lane_);
    same.before_ = from.launches;
    return same;
}

void Trial::end_piece(const Tally& piece, const Recent& ended, int64_t length_ns) {
    const auto place = [](int64_t number) { return static_cast<size_t>(number) % (kLags + 1); };
    Recent& now = recent_[place(pieces_)] = ended;
    for (size_t lag = 1; lag <= kLags && static_cast<int64_t>(lag) <= pieces_; ++lag) {
        Recent& before = recent_[place(pieces_ - static_cast<int64_t>(lag))];
        if (before.signature != now.signature) continue;
        explain(before, lag);
        explain(now, lag);
    }
    if (early_.launches == 0 && (now.explained & 1) != 0) early_ = piece;
    vote(piece);
    // Only now is it known that the piece before is like neither of its neighbours.
    if (pieces_ > 0 && is_last_near_ && (recent_[place(pieces_ - 1)].explained & 1) == 0)
        nearly_ += last_.launches;
    is_last_near_ = is_near(piece, last_);
    if (pieces_ > 0) compare_lengths(piece);
    count_cues(piece, static_cast<double>(length_ns));
    if (pieces_ == 0) first_ns_ = ended.from_ns;
    last_ = piece;
    ++pieces_;
}

void Trial::count_cues(const Tally& piece, double ns) {
    with_copies_ += piece.copies > 0;
    with_optimizers_ += piece.optimizers > 0;
    with_syncs_ += piece.syncs > 0;
    with_reads_ += piece.reads > 0;
    if (piece.updates > 0 && piece.updates <= static_cast<int64_t>(kMostModels))
        ++with_updates_[static_cast<size_t>(piece.updates - 1)];
    all_with_updates_ += piece.updates > 0;
    const bool trains = piece.gradients + piece.optimizers > 0;
    that_half_train_ += (piece.gradients > 0) != (piece.optimizers > 0);
    if (trains) {
        ++that_train_;
        behind_one_that_trains_ += does_last_train_;
        if (first_that_trains_ < 0) first_that_trains_ = pieces_;
        from_first_to_last_that_train_ = pieces_ + 1 - first_that_trains_;
        trained_ns_ += ns;
        between_ns_ += behind_ns_ + ns;
        behind_ns_ = 0;
    } else if (first_that_trains_ >= 0) {
        behind_ns_ += ns;
    }
    does_last_train_ = trains;
    updates_ += piece.updates;
    optimizers_.next(piece.optimizers > 0);
    collectives_.next(piece.collectives > 0);
}

void Trial::compare_lengths(const Tally& piece) {
    const auto larger = static_cast<double>(std::max(piece.launches, last_.launches));
    const auto common = static_cast<double>(in_common(piece, last_));
    in_common_ += common;
    in_larger_ += larger;
    copies_apart_ += static_cast<double>(std::abs(piece.copies - last_.copies));
    copies_in_larger_ += static_cast<double>(std::max(piece.copies, last_.copies));
    gradients_apart_ += static_cast<double>(std::abs(piece.gradients - last_.gradients));
    gradients_in_larger_ += static_cast<double>(std::max(piece.gradients, last_.gradients));
    in_smaller_ += static_cast<double>(std::min(piece.launches, last_.launches));
    if (larger > 0) alike_ += common / larger;
    const auto launches = static_cast<double>(piece.launches);
    after_first_ += launches;
    if (!is_last_near_) return;
    near_ += launches;
    if (piece.launches == last_.launches) as_long_ += launches;
}

// The majority of the launches, if there is one, is what remains.
void Trial::vote(const Tally& piece) {
    if (piece.signature == typical_.signature) {
        votes_ += piece.launches;
    } else if (votes_ >= piece.launches) {
        votes_ -= piece.launches;
    } else {
        votes_ = piece.launches - votes_;
        typical_ = piece;
    }
}

void Trial::explain(Recent& piece, size_t lag) {
    const uint32_t bit = 1U << (lag - 1);
    if ((piece.explained & bit) != 0) return;
    piece.explained |= bit;
    Lag& of = lags_[lag - 1];
    of.launches += piece.to - piece.from;
    of.from = of.from < 0 ? piece.from : std::min(of.from, piece.from);
    of.to = std::max(of.to, piece.to);
    of.ending.add(piece.from, piece.to, piece.from_ns);
}

bool Trial::trains_in_rows() const {
    constexpr double kMost = 0.5, kLong = 9;
    const double rows = that_train_ - static_cast<double>(behind_one_that_trains_);
    return that_train_ > 0 && trained_ns_ >= kMost * between_ns_ && that_train_ >= kLong * rows;
}

double Trial::launches_per_piece() const { return share(static_cast<double>(covered_launches())); }

double Trial::same_share(size_t lag) const {
    const Lag& of = lags_[lag - 1];
    const int64_t length = std::max(of.to - of.from, begun_.launches / 2);
    return length == 0 ? 0 : static_cast<double>(of.launches) / static_cast<double>(length);
}

double Trial::explained_share(size_t lag) const {
    constexpr double kMostlySame = 0.6;  // else what is nearly the same says nothing: so is any long mixture
    const double same = same_share(lag);
    if (lag != 1 || same < kMostlySame) return same;
    return std::min(1.0, same + same * static_cast<double>(nearly_) / static_cast<double>(lags_[0].launches));
}

size_t Trial::best_lag() const {
    size_t best = 1;
    // A lag of which the run has but three is no period.
    for (size_t lag = 1; lag <= kLags && static_cast<int64_t>(lag) * 4 <= pieces_; ++lag) {
        if (explained_share(lag) >= kExplained) return lag;
        if (explained_share(lag) > explained_share(best)) best = lag;
    }
    return best;
}

}  // namespace gpushim::analysis
