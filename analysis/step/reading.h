// What a trial says: whether its pieces are steps, or how many of them make one, and how sure that is. Pure.
#pragma once

#include <string>

#include "trial.h"

namespace gpushim::analysis {

enum class MergeBy : uint8_t { nothing, optimizer, collective };

struct Reading {
    const Trial* trial;
    size_t lag;
    int micro_steps = 1;
    MergeBy merge_by = MergeBy::nothing;

    double explained() const;
    double same() const { return trial->same_share(lag); }
    double steps() const { return static_cast<double>(trial->pieces()) / micro_steps; }
    double confidence() const;
    bool has_copies() const;  // nearly every piece has; so the others
    bool has_optimizers() const;
    bool has_syncs() const;
    bool is_read_back() const;  // each ends in a wait for what it copied to the host
    // Each piece updates the parameters of each model once, and no more than that makes a step: whatever else
    // the program does in some of them, as an evaluation.
    bool is_each_an_update() const;
};

Reading read(const Trial& trial);
// Its pieces are one step each, done in several ways that come in turn: sweeps along x, then along y.
bool takes_turns(const Reading& reading);
bool fits(const Reading& reading);
// 0: none. Where every m-th piece alone is different, it may end a step of m micro-steps; an optimizer kernel
// or a collective would tell.
size_t undecided_lag(const Reading& reading);
// A copy that is told from others like it only by what precedes it may be any of its step's micro-steps.
bool is_one_of_several_copies(const Reading& reading);
// Its pieces are made of others that are much alike and have an input or an optimizer each, as an epoch's
// are.
bool hides_finer(const Reading& reading, const std::vector<Trial>& trials);
// Each piece that trains updates the parameters of each model once, or is a micro-step with gradients; the
// others are evaluations, or the like.
bool updates_tell(const Reading& reading);
// Where it is known how parameters are updated, most of its pieces neither update them nor compute gradients:
// moves of a player between two trainings, batches of evaluations.
bool is_beside_training(const Reading& reading);
// The same of those between the first that trains and the last, where parameters are updated at all: an
// evaluation before a training, or behind it, is no other loop.
bool is_beside_training_throughout(const Reading& reading);
bool is_single_launch(const Trial& trial);

bool is_finer(const Reading& a, const Reading& b);  // an order
bool is_clearly_finer(const Reading& a, const Reading& b);
// Of those with as many pieces, the one whose anchor begins a step best; all lanes rather than one.
const Reading& best_of_same(const std::vector<Reading>& fitting, const Reading& as);

}  // namespace gpushim::analysis
