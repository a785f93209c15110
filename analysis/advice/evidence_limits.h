// From where on too little of a run is known, or knowing it cost too much: said by the rule about ourselves
// and by the grade of the evidence.
#pragma once

#include <cstdint>

namespace gpushim::analysis {

constexpr double kCovered = 0.9;      // of the operations in timed windows
constexpr double kHalfCovered = 0.5;  // … below, what looks idle may be the others' time …
constexpr double kToldWithin = 0.25;  // … but for bounds of the busy share so near each other
constexpr double kOverBudget = 1.5;   // own cost over what it may be
constexpr int64_t kLongEnoughForCost = 10'000'000'000;  // ns: a shorter run pays mostly for starting

}  // namespace gpushim::analysis
