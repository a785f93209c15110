// What to do about a run: all rules are asked, what is worth doing is ranked. One thread.
#pragma once

#include <string>
#include <vector>

#include "rule.h"

namespace gpushim::analysis {

struct Advice {
    const Rule* rule;
    Finding finding;

    const Heading& heading() const { return finding.heading == nullptr ? rule->heading : *finding.heading; }
};

// What is worth less than this share of a step is not said.
constexpr double kWorthIt = 0.03;

// What gains less than this share of the most comes behind all that gains more, on one GPU or several.
constexpr double kMinor = 1.0 / 3;

// A finding whose time is that of others comes behind one that alone saves so much of it.
constexpr double kMostOf = 2.0 / 3;

// In the order in which they should be done: what fills the step; then what gains about as much as the most,
// what one GPU can do for itself first; then the rest by what it gains; then what gives nothing, then notes.
std::vector<Advice> advise(const Situation& situation);

// As rows of the table `finding` of the run that is being made.
void write_findings(sqlite3* run, CountedSteps basis);

// Rules by id, for callers that need all of them.
std::vector<const Rule*> all_rules();

}  // namespace gpushim::analysis
