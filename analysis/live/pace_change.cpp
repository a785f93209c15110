#include "pace_change.h"

#include <algorithm>
#include <vector>

#include "../step/changes.h"

namespace gpushim::analysis {

void PaceChanges::add(int64_t begin_ns, int64_t length_ns) {
    if (length_ns <= 0) return;
    if (pieces_.empty() || pieces_.back().sum_ns >= kPieceNs) pieces_.push_back({begin_ns, 0, 0});
    Piece& piece = pieces_.back();
    piece.sum_ns += length_ns;
    ++piece.steps;
    if (piece.sum_ns < kPieceNs) return;
    if (pieces_.size() > kMostPieces) pieces_.pop_front();
    if (++untested_ >= kBetweenTests) test();
}

// All pieces are full when it is called.
void PaceChanges::test() {
    untested_ = 0;
    const std::optional<PaceChange> now = found();
    times_ = now && candidate_ && is_about(*now, *candidate_) ? times_ + 1 : now ? 1 : 0;
    candidate_ = now;
    if (times_ >= kAgain) {
        newest_ = now;
    } else if (newest_ && newest_->at_ns < pieces_[kFewestAroundChange].begin_ns) {
        newest_->after_ns = median_since(newest_->at_ns);  // too little of what was before it is left
    } else if (newest_ && !now) {
        newest_.reset();
    }
}

std::optional<PaceChange> PaceChanges::found() const {
    std::vector<int64_t> lengths_ns;
    for (const Piece& piece : pieces_) lengths_ns.push_back(piece.mean_ns());
    const std::vector<StepChange> changes = find_changes(lengths_ns);
    if (changes.empty()) return {};
    const size_t at = changes.back().at, from = changes.size() > 1 ? changes[changes.size() - 2].at : 0;
    const MedianShift& shift = changes.back().shift;
    return PaceChange{pieces_[from].begin_ns, pieces_[at].begin_ns, shift.base_ns, shift.new_ns};
}

bool PaceChanges::is_about(const PaceChange& a, const PaceChange& b) const {
    const auto [first_ns, last_ns] = std::minmax(a.at_ns, b.at_ns);
    size_t between = 0;
    for (const Piece& piece : pieces_) between += piece.begin_ns >= first_ns && piece.begin_ns < last_ns;
    return between <= kAbout;
}

double PaceChanges::median_since(int64_t at_ns) const {
    std::vector<int64_t> lengths_ns;
    for (const Piece& piece : pieces_)
        if (piece.begin_ns >= at_ns) lengths_ns.push_back(piece.mean_ns());
    return median_of(lengths_ns);
}

}  // namespace gpushim::analysis
