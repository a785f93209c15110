// The last pass: the run cut into steps, at an anchor's occurrences or at given times. Keeps one small value
// for each piece, nothing for a token. One thread.
//
//   pieces    P P O P P O E E P P O        micro-steps, O with the optimizer, E an evaluation
//   steps     |1   |2    |3|4|5   |
#pragma once

#include <vector>

#include "period.h"
#include "steps.h"

namespace gpushim::analysis {

struct Cut {
    std::vector<Step> steps;
    double share_near = 0;  // of the launches (of the lead lane, if there is one): in pieces that are nearly
                            // the period's typical one
};
Cut cut_at_anchor(const TokenSource& source, const Period& period);

// Fills in what each step holds; they are by begin and do not overlap.
void sign(const TokenSource& source, std::vector<Step>& steps);

// Marks as warm-up the leading steps that load code or take 1.5 times as long as their like.
void mark_warm_up(std::vector<Step>& steps);

}  // namespace gpushim::analysis
