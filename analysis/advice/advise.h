// What to do about a run: all rules are asked, what is worth doing is ranked. One thread.
#pragma once

#include <string>
#include <vector>

#include "rule.h"

namespace gpushim::analysis {

struct Advice {
    const Rule* rule;
    Finding finding;
};

// What is worth less than this share of a step is not said.
constexpr double kWorthIt = 0.03;

// What the host does costs so little beside what others gain, by this share of the most, that it comes behind
// them.
constexpr double kMinor = 0.25;

// In the order in which they should be done: what fills the step; then what one GPU can do for itself, then
// by what is gained; behind them what the host does, where that is little; then what gives nothing, then
// notes.
std::vector<Advice> advise(const Situation& situation);

// As rows of the table `finding` of the run that is being made.
void write_findings(sqlite3* run, CountedSteps basis);

// Rules by id, for whoever needs all of them.
std::vector<const Rule*> all_rules();

}  // namespace gpushim::analysis
