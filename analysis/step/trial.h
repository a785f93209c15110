// The second pass: a run cut at one candidate's occurrences, and how much of it that explains. A piece is
// explained when the piece `lag` before or after it has the same signature: lag 1 where every step is like
// the next, m where a step is m pieces.
//
// Where most are the same, a piece counts at lag 1 that is nearly what the one before it is. Where a step is
// done in several ways in turn, each piece is nearly the one before, and as long.
//
//   P P P O P P P O P P P X P P P O       lag 1: the P's are explained     lag 4: all but the X
//
// By cues of the pieces it also says how many of them make a step: as far as optimizer kernels or, without
// these, collectives are apart. Constant memory; one thread.
#pragma once

#include <algorithm>
#include <array>

#include "candidates.h"
#include "ending.h"
#include "tally.h"

namespace gpushim::analysis {

// How far apart the pieces with a cue are, counted in pieces.
class CueDistance {
  public:
    void next(bool has_cue);
    int usual() const;  // 0: no cue, or none of the distances is usual

  private:
    std::array<int64_t, 65> times_{};  // [0]: further apart than 64
    size_t since_ = 0;
    int64_t cues_ = 0;
};

class Trial {
  public:
    static constexpr size_t kLags = 32;
    static constexpr double kExplained = 0.90;  // of the launches, by a period that is one
    Trial(const Candidate& anchor, bool is_lead_lane) : anchor_(anchor), is_lead_lane_(is_lead_lane) {}
    void begin_piece(const Tally& running, int64_t at_ns);

    const Candidate& anchor() const { return anchor_; }
    bool is_lead_lane() const { return is_lead_lane_; }
    int64_t pieces() const { return pieces_; }
    double launches_per_piece() const;
    int64_t covered_launches() const {
        return begun_.launches - before_;
    }  // from its first piece to its last
    // Of the launches between the first and the last explained piece, or half the run if that is more: what
    // comes before is start-up.
    double explained_share(size_t lag) const;
    double same_share(size_t lag) const;  // without those that are only nearly the same
    int64_t explained_launches(size_t lag) const { return lags_[lag - 1].launches; }
    // What the period explains of the end of the run, as if the run had begun there.
    const Ending& ending(size_t lag) const { return lags_[lag - 1].ending; }
    int64_t span_ns() const { return begun_ns_ - first_ns_; }  // from its first piece to its last
    size_t best_lag() const;  // the shortest that explains enough, else the one that explains most
    double share_with_copies() const { return share(with_copies_); }
    double share_with_optimizers() const { return share(with_optimizers_); }
    double share_with_syncs() const { return share(with_syncs_); }
    double share_with_reads() const { return share(with_reads_); }  // the host waits for a value
    // As many updates as most that train: one of each model that a step trains, as both of a pair that
    // compete.
    double share_with_usual_updates() const { return share(static_cast<double>(usual_updates())); }
    double share_that_train() const { return share(that_train_); }  // have gradients, or an optimizer
    // The same of those from the first that trains to the last: what is evaluated before or behind is no
    // part.
    double share_that_train_between() const { return that_train_ / between(); }
    double share_with_usual_updates_between() const {
        return static_cast<double>(usual_updates()) / between();
    }
    int64_t updates() const { return updates_; }
    // Have gradients and no optimizer, or an optimizer and no gradients.
    double share_that_half_train() const { return share(that_half_train_); }
    // Those that train take most of the time, and come many in a row: not a round of moves and updates.
    bool trains_in_rows() const;
    double likeness() const { return share(alike_); }  // of pieces to the one before
    double share_in_common() const { return in_common_ / std::max(1.0, in_larger_); }  // as that, of launches
    // Of the launches of the smaller of each two pieces in a row.
    double share_contained() const { return in_common_ / std::max(1.0, in_smaller_); }
    // Of the copies of two pieces in a row those that both have.
    double share_of_copies_in_common() const { return 1 - copies_apart_ / std::max(1.0, copies_in_larger_); }
    double share_of_gradients_in_common() const {
        return 1 - gradients_apart_ / std::max(1.0, gradients_in_larger_);
    }
    // Each has an update, of whichever model.
    double share_with_updates() const { return share(static_cast<double>(all_with_updates_)); }
    // Of the launches: in pieces that are nearly the one before them; and also as long.
    double share_near() const { return near_ / std::max(1.0, after_first_); }
    double share_near_and_as_long() const { return as_long_ / std::max(1.0, after_first_); }
    int optimizer_distance() const { return optimizers_.usual(); }
    int collective_distance() const { return collectives_.usual(); }
    const Tally& typical() const { return typical_; }  // what most pieces are
    const Tally& early() const { return early_; }      // the first piece that is as the one before it

  private:
    struct Lag {
        int64_t launches = 0, from = -1, to = 0;
        Ending ending;
    };
    struct Recent {
        uint64_t signature = 0;
        int64_t from = 0, to = 0, from_ns = 0;
        uint32_t explained = 0;  // bit by lag
    };
    bool ends_start_up(const Tally& piece) const;
    Trial without_pieces(const Tally& from) const;
    void end_piece(const Tally& piece, const Recent& ended, int64_t length_ns);
    void compare_lengths(const Tally& piece);
    void count_cues(const Tally& piece, double ns);
    void vote(const Tally& piece);
    void explain(Recent& piece, size_t lag);
    int64_t usual_updates() const { return *std::max_element(with_updates_.begin(), with_updates_.end()); }
    double between() const { return std::max(1.0, static_cast<double>(from_first_to_last_that_train_)); }
    double share(double of) const { return pieces_ == 0 ? 0 : of / static_cast<double>(pieces_); }

    Candidate anchor_;
    bool is_lead_lane_;
    bool has_begun_ = false, is_last_near_ = false;
    int64_t nearly_ = 0;
    int64_t begun_ns_ = 0, first_ns_ = 0;
    Tally begun_, last_, typical_, early_;
    int64_t before_ = 0, pieces_ = 0, votes_ = 0;
    double with_copies_ = 0, with_optimizers_ = 0, with_syncs_ = 0, with_reads_ = 0, alike_ = 0;
    double that_train_ = 0, that_half_train_ = 0;
    static constexpr size_t kMostModels = 3;           // a step updates each once; more are several steps
    std::array<int64_t, kMostModels> with_updates_{};  // how many have one, two, …
    int64_t updates_ = 0, first_that_trains_ = -1, from_first_to_last_that_train_ = 0;
    int64_t all_with_updates_ = 0, behind_one_that_trains_ = 0;
    bool does_last_train_ = false;
    // In pieces that train; from the first of them to the last; in those behind the last.
    double trained_ns_ = 0, between_ns_ = 0, behind_ns_ = 0;
    // Launches, of each two pieces in a row.
    double in_common_ = 0, in_larger_ = 0, in_smaller_ = 0;
    double copies_apart_ = 0, copies_in_larger_ = 0, gradients_apart_ = 0, gradients_in_larger_ = 0;
    double after_first_ = 0, near_ = 0, as_long_ = 0;  // launches
    CueDistance optimizers_, collectives_;
    std::array<Lag, kLags> lags_{};
    std::array<Recent, kLags + 1> recent_{};
};

}  // namespace gpushim::analysis
