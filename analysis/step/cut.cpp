#include "cut.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace gpushim::analysis {

namespace {

struct Piece {
    int64_t begin_ns, end_ns;
    uint64_t signature;
    bool ends_step, has_load;
    bool is_like_step;  // holds half of what most pieces hold
    bool is_as_long;    // and not much more
    int64_t launches;
    bool trains;
    bool is_alone = false;  // neither a micro-step nor an optimizer's

    int64_t length_ns() const { return end_ns - begin_ns; }
};

bool has_cue(const Tally& piece, MergeBy by) {
    if (by == MergeBy::nothing) return true;
    return (by == MergeBy::optimizer ? piece.optimizers : piece.collectives) > 0;
}

// A start-up may hold as much as a step and be followed by more that the anchor cuts: weights that are
// filled, then copied. Steps begin where one follows the other, if nearly all are like each other from there
// on. A few may stand alone before that; many are steps between others, unless they hold much more than a
// step: kernels that are tried one after the other.
void leave_out_start_up(std::vector<Piece>& pieces) {
    constexpr double kNearlyAll = 0.9;
    const auto is_like = [](const Piece& piece) { return piece.is_like_step; };
    const auto first = std::adjacent_find(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
        return a.is_like_step && b.is_like_step;
    });
    const auto is_as_long = [](const Piece& piece) { return piece.is_like_step && piece.is_as_long; };
    constexpr std::ptrdiff_t kFewAlone = 3;
    if (std::count_if(pieces.begin(), first, is_as_long) > kFewAlone) return;
    const auto like = static_cast<double>(std::count_if(first, pieces.end(), is_like));
    if (first != pieces.end() && like >= kNearlyAll * static_cast<double>(pieces.end() - first))
        pieces.erase(pieces.begin(), first);
}

void append(Piece& step, const Piece& piece) {
    step.end_ns = piece.end_ns;
    step.signature += piece.signature;
    step.has_load |= piece.has_load;
    step.launches += piece.launches;
    step.trains |= piece.trains;
}

// A wait in the middle of a step cuts it in two, which together hold what a step holds: an evaluation, or a
// step more, would hold something else.
std::vector<Piece> with_halves_joined(const std::vector<Piece>& pieces, uint64_t signature) {
    std::vector<Piece> joined;
    bool may_be_half = false;  // of the last
    for (const Piece& piece : pieces) {
        const bool is_half = piece.signature != signature;
        if (may_be_half && is_half && joined.back().signature + piece.signature == signature) {
            append(joined.back(), piece);
            may_be_half = false;
            continue;
        }
        joined.push_back(piece);
        may_be_half = is_half;
    }
    return joined;
}

class Cutter {
  public:
    explicit Cutter(const Period& period) : period_(period) {}

    void add(const Token& token) {
        if (is_anchor(token)) {
            if (pieces_.empty()) find_first();
            if (is_open_) end_piece(token.at_ns);
            is_open_ = true;
            begun_ = {token.at_ns, running_};
        }
        if (pieces_.empty() && token.hash == period_.anchor.hash && token.kind != TokenKind::sync)
            note_start(token.at_ns);
        running_.add(token, period_.lead_lane);
        last_ns_ = token.at_ns;
    }

    std::vector<Piece> take() {
        if (is_open_) end_piece(last_ns_);
        leave_out_start_up(pieces_);
        return with_halves_joined(pieces_, period_.typical.signature);
    }
    double share_near() const {
        return static_cast<double>(near_) / static_cast<double>(std::max<int64_t>(1, running_.launches));
    }

  private:
    // A token of another hash has another key, which need not be made where it asks for no token before.
    bool is_anchor(const Token& token) {
        const Candidate& anchor = period_.anchor;
        if (anchor.kind == KeyKind::exact && token.hash != anchor.hash) return false;
        return keys_.of(token, anchor.kind) == anchor.key;
    }

    // What the anchor begins before the first real step (weights are copied to the device, too) holds little
    // of what a step holds, and is none.
    bool is_like_step(const Tally& piece) const { return holds_of_step(piece, 0.5); }

    bool holds_of_step(const Tally& piece, double share) const {
        return static_cast<double>(in_common(piece, period_.typical)) >=
               share * static_cast<double>(period_.typical.launches);
    }

    // A step whose update was left out (a loss that overflowed) is told by its gradients; in one thread,
    // where none are known by name, by holding nearly all that a step holds.
    bool trains(const Tally& piece) const {
        return piece.gradients + piece.optimizers > 0 ||
               (period_.typical.optimizers > 0 && period_.typical.updates == 0 &&
                period_.typical.gradients == 0 && holds_of_step(piece, 0.75));
    }

    bool is_as_long(const Tally& piece) const { return piece.launches <= 2 * period_.typical.launches; }

    struct Place {
        int64_t at_ns = 0;
        Tally running;
    };

    // An anchor that is known by what precedes it is not known the first time: something else precedes it.
    bool may_miss_first() const { return period_.anchor.kind > KeyKind::name; }

    void note_start(int64_t at_ns) {
        constexpr size_t kMost = 256;
        if (!may_miss_first()) return;
        if (starts_.size() == kMost) starts_.erase(starts_.begin());
        starts_.push_back({at_ns, running_});
    }

    static int64_t unlike(const Tally& piece, const Tally& model) {
        return std::max(piece.launches, model.launches) - in_common(piece, model);
    }

    // The first step begins where what lies before its end is most like a step.
    void find_first() {
        if (!find_first(period_.early)) find_first(period_.typical);
    }

    bool find_first(const Tally& model) {
        const auto of = [&](const Place& from) { return unlike(running_ - from.running, model); };
        const auto best = std::min_element(starts_.begin(), starts_.end(),
                                           [&](const Place& a, const Place& b) { return of(a) < of(b); });
        if (best == starts_.end() || !is_near(running_ - best->running, model)) return false;
        if (is_open_ && of(begun_) <= of(*best)) return true;
        begun_ = *best;
        return is_open_ = true;
    }

    void end_piece(int64_t end_ns) {
        const Tally piece = running_ - begun_.running;
        const bool is_like = is_like_step(piece);
        if (pieces_.empty() && !is_like) return;
        if (is_near(piece, period_.typical)) near_ += piece.launches;
        pieces_.push_back({begun_.at_ns, end_ns, piece.signature, has_cue(piece, period_.merge_by),
                           piece.loads > 0, is_like, is_as_long(piece), piece.launches, trains(piece)});
    }

    const Period& period_;
    Keys keys_;
    Tally running_;
    Place begun_;
    bool is_open_ = false;
    int64_t last_ns_ = 0;
    std::vector<Place> starts_;  // where the first step may begin
    std::vector<Piece> pieces_;
    int64_t near_ = 0;  // launches of those that hold nearly what the typical one does
};

int64_t median(std::vector<int64_t>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// The signatures that lie in whole groups, so that an evaluation's pieces are not taken for micro-steps.
std::unordered_set<uint64_t> of_micro_steps(const std::vector<Piece>& pieces, size_t micro_steps) {
    std::unordered_map<uint64_t, size_t> times;
    size_t groups = 0, from = 0;
    for (size_t i = 0; i < pieces.size(); ++i) {
        if (!pieces[i].ends_step) continue;
        if (i + 1 - from == micro_steps) {
            ++groups;
            for (size_t k = from; k <= i; ++k) ++times[pieces[k].signature];
        }
        from = i + 1;
    }
    std::unordered_set<uint64_t> result;
    for (const auto& [signature, count] : times)
        if (count * 20 >= groups) result.insert(signature);
    return result;
}

// Where the host also looks at a loss every ten steps, it cuts off a moment and a launch or two, which are no
// step and no evaluation.
std::vector<Piece> with_looks_joined(const std::vector<Piece>& steps) {
    constexpr int64_t kLittle = 20;  // in a step, in time as in launches
    std::vector<int64_t> lengths_ns, launches;
    for (const Piece& step : steps) {
        if (step.is_alone) continue;
        lengths_ns.push_back(step.length_ns());
        launches.push_back(step.launches);
    }
    if (lengths_ns.empty()) return steps;
    const int64_t usual_ns = median(lengths_ns), usual_launches = median(launches);
    const auto is_look = [&](const Piece& step) {
        return step.is_alone && step.length_ns() * kLittle <= usual_ns &&
               step.launches * kLittle <= usual_launches;
    };
    std::vector<Piece> joined;
    for (const Piece& step : steps)
        if (!joined.empty() && is_look(step))
            append(joined.back(), step);
        else
            joined.push_back(step);
    return joined;
}

std::vector<Piece> merge(const std::vector<Piece>& pieces, size_t micro_steps) {
    if (micro_steps <= 1) return pieces;
    const auto known = of_micro_steps(pieces, micro_steps);
    std::vector<Piece> steps;
    size_t in_group = 0;  // of the last step; 0: the next piece begins one
    for (const Piece& piece : pieces) {
        const bool is_alone = !piece.ends_step && !known.contains(piece.signature);
        if (in_group == 0 || is_alone) {
            steps.push_back(piece);
            steps.back().is_alone = is_alone;
        } else {
            append(steps.back(), piece);
        }
        // An optimizer that is skipped (a loss that overflowed) ends its step all the same.
        ++in_group;
        if (is_alone || piece.ends_step || in_group == micro_steps) in_group = 0;
    }
    return with_looks_joined(steps);
}

}  // namespace

Cut cut_at_anchor(const TokenSource& source, const Period& period) {
    Cutter cutter(period);
    source([&](const Token& token) { cutter.add(token); });
    Cut cut;
    std::vector<Step>& steps = cut.steps;
    for (const Piece& piece : merge(cutter.take(), static_cast<size_t>(period.micro_steps))) {
        const auto number = static_cast<int64_t>(steps.size());
        steps.push_back({piece.begin_ns, piece.end_ns, number, piece.signature, {}});
        steps.back().has_load = piece.has_load;
        steps.back().is_left_out = period.updates_tell && !piece.trains;
        if (steps.back().is_left_out) steps.back().why_left_out = kTrainsNothing;
    }
    cut.share_near = cutter.share_near();
    return cut;
}

void sign(const TokenSource& source, std::vector<Step>& steps) {
    size_t at = 0;
    Tally inside;
    const auto close = [&] {
        steps[at].signature = inside.signature;
        steps[at].has_load = inside.loads > 0;
        inside = {};
        ++at;
    };
    source([&](const Token& token) {
        while (at < steps.size() && token.at_ns >= steps[at].end_ns) close();
        if (at < steps.size() && token.at_ns >= steps[at].begin_ns) inside.add(token, std::nullopt);
    });
    while (at < steps.size()) close();
}

// Those behind the warm-up become shorter and shorter.
bool shrink(const std::vector<Step>& steps) {
    constexpr double kMuch = 1.5;  // the first third against the last
    std::vector<int64_t> lengths;
    for (const Step& step : steps)
        if (!step.is_warm_up && !step.is_left_out) lengths.push_back(step.length_ns());
    const auto third = static_cast<std::ptrdiff_t>(lengths.size() / 3);
    if (third == 0) return false;
    std::vector<int64_t> first(lengths.begin(), lengths.begin() + third),
        last(lengths.end() - third, lengths.end());
    return static_cast<double>(median(first)) >= kMuch * static_cast<double>(median(last));
}

// A solver whose problem shrinks has long steps first: so many warm nothing up. What loads code does.
void unmark_what_shrinks(std::vector<Step>& steps) {
    constexpr size_t kMost = 10, kOneIn = 10;
    const auto is_slow = [](const Step& step) { return step.is_warm_up && !step.has_load; };
    const auto slow = static_cast<size_t>(std::count_if(steps.begin(), steps.end(), is_slow));
    if (slow <= std::max(kMost, steps.size() / kOneIn) || !shrink(steps)) return;
    for (Step& step : steps)
        if (is_slow(step)) step.is_warm_up = false;
}

// Where all would be of warm-up there is nothing that they warm up for.
void mark_warm_up(std::vector<Step>& steps) {
    constexpr double kLonger = 1.5;
    std::unordered_map<uint64_t, std::vector<int64_t>> by_signature;
    for (const Step& step : steps)
        if (!step.is_left_out) by_signature[step.signature].push_back(step.length_ns());
    if (by_signature.empty()) return;
    const auto usual =
        std::max_element(by_signature.begin(), by_signature.end(),
                         [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    const int64_t usual_ns = median(usual->second);
    for (Step& step : steps) {
        if (step.is_left_out) continue;
        auto& like = by_signature[step.signature];
        // Of a kind of which there are one or two, only the usual kind can say how long is long.
        const int64_t median_ns = like.size() < 3 ? usual_ns : median(like);
        const double most_ns = kLonger * static_cast<double>(median_ns);
        if (!step.has_load && static_cast<double>(step.length_ns()) <= most_ns)
            return unmark_what_shrinks(steps);
        step.is_warm_up = true;
    }
    for (Step& step : steps) step.is_warm_up = false;
}

}  // namespace gpushim::analysis
