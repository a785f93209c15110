#include "reading.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace gpushim::analysis {

namespace {

constexpr double kRecurs = 0.80;  // of the pieces have a cue that belongs to every step
constexpr double kAlike = 0.40;   // of the launches two micro-steps have in common: the last has an optimizer

constexpr double kNearlyAll = 0.98;  // of the pieces have what makes each a step

// Each has a batch and its updates, and most of what the one before it has: every n-th has an evaluation in
// it, which no copy begins and which has no gradients; two models that are trained in turn differ in these.
// Or every second one updates another model, too, as an actor that learns half as often as its critics.
// Where one learns more rarely, the round of all may be what people call a step.
bool is_each_a_batch_with_updates(const Reading& reading) {
    constexpr double kMostlyAlike = 0.7;
    const Trial& trial = *reading.trial;
    if (reading.micro_steps != 1 || trial.share_with_copies() < kNearlyAll) return false;
    const bool has_more =
        trial.share_contained() >= kNearlyAll && trial.share_of_copies_in_common() >= kNearlyAll;
    if (trial.share_with_usual_updates() >= kNearlyAll)
        return (has_more && trial.share_of_gradients_in_common() >= kNearlyAll) ||
               trial.share_in_common() >= kMostlyAlike;
    return has_more && reading.lag == 2 && trial.share_with_updates() >= kNearlyAll;
}

// Pieces that come back only every `lag` must be alike to be micro-steps, and something must join them: two
// copies in one step also cut it into pieces, A B A B, but what is in these has little in common.
bool is_one_kind_of_piece(const Reading& reading) {
    if (reading.lag == 1 || takes_turns(reading) || reading.is_each_an_update() ||
        is_each_a_batch_with_updates(reading))
        return true;
    return reading.merge_by != MergeBy::nothing && reading.trial->likeness() >= kAlike;
}

// Micro-steps have an input of their own, or are looked at; layers also lie m to an optimizer.
bool may_be_merged(const Reading& reading) {
    return reading.merge_by == MergeBy::nothing || reading.has_copies() || reading.has_syncs();
}

}  // namespace

bool Reading::is_each_an_update() const {
    return micro_steps == 1 && trial->share_with_usual_updates() >= kNearlyAll &&
           trial->share_in_common() >= Trial::kExplained;
}

double Reading::explained() const {
    const double repeated = trial->explained_share(lag);
    return is_each_an_update() ? std::max(repeated, trial->share_in_common()) : repeated;
}

// A period that has been seen only a few times may be chance, but not often if each piece updates parameters:
// profiles of four steps are usual.
double Reading::confidence() const {
    const double seen = is_each_an_update() ? 2 * steps() : steps();
    double value = explained() * (1 - 1 / std::max(1.0, seen));
    if (merge_by == MergeBy::collective) value *= 0.95;  // could be any exchange that is rarer than steps
    if (trial->is_lead_lane()) value *= 0.97;            // nothing was asked of the other lanes
    return value;
}

bool Reading::has_copies() const { return trial->share_with_copies() >= kRecurs; }
bool Reading::has_optimizers() const { return trial->share_with_optimizers() >= kRecurs; }
bool Reading::has_syncs() const { return trial->share_with_syncs() >= kRecurs; }

bool Reading::is_read_back() const {
    return micro_steps == 1 && lag == 1 && trial->share_with_reads() >= kNearlyAll;
}

Reading read(const Trial& trial) {
    Reading reading = {&trial, trial.best_lag()};
    const int by_optimizer = trial.optimizer_distance();
    // Where optimizer kernels are known, collectives say nothing more.
    if (by_optimizer > 1) {
        reading.micro_steps = by_optimizer;
        reading.merge_by = MergeBy::optimizer;
    } else if (by_optimizer == 0 && trial.collective_distance() > 1) {
        reading.micro_steps = trial.collective_distance();
        reading.merge_by = MergeBy::collective;
    }
    return reading;
}

// Whatever ends a step is work that the pieces before it do not have. So pieces that are nearly alike and as
// long as each other are steps, and those of which each has an optimizer or a collective are.
bool takes_turns(const Reading& reading) {
    const Trial& trial = *reading.trial;
    if (reading.lag == 1 || reading.merge_by != MergeBy::nothing) return false;
    if (trial.same_share(reading.lag) < Trial::kExplained) return false;
    const bool ends_each = trial.optimizer_distance() == 1 ||
                           (trial.optimizer_distance() == 0 && trial.collective_distance() == 1);
    const double alike = ends_each ? trial.share_near() : trial.share_near_and_as_long();
    return alike >= Trial::kExplained;
}

bool fits(const Reading& reading) {
    return reading.explained() >= Trial::kExplained && is_one_kind_of_piece(reading) &&
           may_be_merged(reading) && !is_single_launch(*reading.trial);
}

size_t undecided_lag(const Reading& reading) {
    constexpr double kClearly = 0.02;
    const Trial& trial = *reading.trial;
    if (trial.optimizer_distance() != 0 || trial.collective_distance() != 0 || takes_turns(reading) ||
        updates_tell(reading))
        return 0;
    for (size_t lag = 2; lag <= Trial::kLags && static_cast<int64_t>(lag) * 4 <= trial.pieces(); ++lag)
        if (trial.same_share(lag) > trial.same_share(1) + kClearly) return lag;
    return 0;
}

bool is_one_of_several_copies(const Reading& reading) {
    const Candidate& anchor = reading.trial->anchor();
    return anchor.is_copy && anchor.kind == KeyKind::pair && reading.trial->optimizer_distance() == 0 &&
           anchor.after_syncs + 1 < anchor.count;
}

namespace {

// In one thread it is not told of which gradients an update is. But where most pieces have an optimizer's
// kernels, one right after the other, none is a micro-step, and one without trains nothing. Nor is one where
// gradients are known by name and none has some without an update: then most may be evaluations, if training
// takes most of the time.
bool optimizers_tell(const Reading& reading) {
    constexpr double kMostly = 0.5;
    const Trial& trial = *reading.trial;
    if (reading.micro_steps != 1 || trial.updates() != 0 || trial.optimizer_distance() != 1) return false;
    return trial.share_with_optimizers() > kMostly ||
           (trial.share_that_half_train() <= 1 - kNearlyAll && trial.trains_in_rows());
}

}  // namespace

bool updates_tell(const Reading& reading) {
    constexpr double kMostly = 0.5, kSome = 0.1;  // of the pieces: a training, not one of what it trains
    const Trial& trial = *reading.trial;
    if (optimizers_tell(reading)) return true;
    // Of micro-steps only some have the update, and all have gradients.
    if (reading.merge_by == MergeBy::optimizer)
        return trial.updates() > 0 && (trial.share_that_train_between() >= kMostly || trial.trains_in_rows());
    const double one = trial.share_with_usual_updates_between();
    return reading.micro_steps == 1 && trial.share_that_train() >= kSome &&
           (one >= kMostly || trial.trains_in_rows()) &&
           one + 1 - trial.share_that_train_between() >= kNearlyAll;
}

// Micro-steps compute gradients, each of them.
bool is_beside_training(const Reading& reading) {
    constexpr double kMostly = 0.5;
    constexpr int64_t kSomeUpdates = 4;
    return reading.trial->updates() >= kSomeUpdates && reading.trial->share_that_train() < kMostly &&
           !reading.trial->trains_in_rows();
}

bool is_beside_training_throughout(const Reading& reading) {
    constexpr double kMostly = 0.5;
    return reading.trial->share_that_train_between() < kMostly && !reading.trial->trains_in_rows();
}

// One kernel over and over is a loop of which each launch would be a step. Something else must begin it.
bool is_single_launch(const Trial& trial) {
    return trial.anchor().preference() == 0 && trial.launches_per_piece() < 1.5;
}

bool is_finer(const Reading& a, const Reading& b) {
    const auto order = [](const Reading& reading) {
        const Trial& trial = *reading.trial;
        return std::tuple(-trial.pieces(), trial.is_lead_lane(), trial.anchor().key);
    };
    return order(a) < order(b);
}

// Pieces that have to be joined say less than a copy that is known by itself and occurs once in a step.
bool has_one_copy_for_each_step_of(const Reading& joined, const Reading& reading) {
    const double near = std::max(2.0, joined.steps() / 50);
    const Candidate& anchor = reading.trial->anchor();
    return joined.micro_steps > 1 && reading.micro_steps == 1 && reading.lag == 1 && anchor.is_copy &&
           anchor.exactness() == 0 && std::abs(reading.steps() - joined.steps()) <= near;
}

bool is_clearly_finer(const Reading& a, const Reading& b) { return a.steps() > 1.5 * b.steps(); }

bool hides_finer(const Reading& reading, const std::vector<Trial>& trials) {
    constexpr double kMuchAlike = 0.7, kMostly = 0.6;
    const bool is_each_an_update = reading.is_each_an_update();
    return std::any_of(trials.begin(), trials.end(), [&](const Trial& trial) {
        const Reading finer = read(trial);
        if (trial.likeness() < kMuchAlike || is_beside_training(finer) ||
            !(finer.has_copies() || finer.has_optimizers()))
            return false;
        // An optimizer goes through the parameters: its pieces compute nothing that it applies.
        if (is_each_an_update && !finer.has_copies() && trial.share_with_usual_updates() < kMostly)
            return false;
        // What comes back only every `lag` is as coarse as that: eight optimizer kernels are one step's.
        const auto is_finer = [&](size_t lag) {
            return trial.pieces() * 2 > reading.trial->pieces() * 3 * static_cast<int64_t>(lag);
        };
        const bool is_each_a_step = finer.micro_steps == 1 && trial.share_near() >= kMostly;
        return (finer.explained() >= kMostly && is_finer(finer.lag)) || (is_each_a_step && is_finer(1));
    });
}

const Reading& best_of_same(const std::vector<Reading>& fitting, const Reading& as) {
    constexpr double kClearly = 0.1;
    const auto pieces = as.trial->pieces(), near = std::max<int64_t>(2, pieces / 50);
    const auto is_same = [&](const Reading& other) {
        return std::abs(other.trial->pieces() - pieces) <= near || has_one_copy_for_each_step_of(as, other);
    };
    double most = 0;
    for (const Reading& other : fitting)
        if (is_same(other)) most = std::max(most, other.same());
    // One lane is better only where it repeats clearly better than all.
    const auto order = [&](const Reading& reading) {
        const Candidate& anchor = reading.trial->anchor();
        return std::tuple(reading.same() < most - kClearly, reading.trial->is_lead_lane(),
                          -anchor.preference(), reading.micro_steps > 1, anchor.exactness(),
                          anchor.variation());
    };
    const Reading* best = &as;
    for (const Reading& other : fitting)
        if (is_same(other) && order(other) < order(*best)) best = &other;
    return *best;
}

}  // namespace gpushim::analysis
