// Operations without device times whose time is known together, from those before and behind them in their
// stream. Kernels that are launched programmatically get no events, for one between two would keep them from
// overlapping; on a Hopper GPU that is one operation in ten.
//
//   calls    A  U  U  U  B         all launched before A was over
//   stream   ███▒▒▒▒▒▒▒▒▒███       nothing else could run between the end of A and the start of B
//
// Inferred, not measured: that the GPU was busy there, and not what each of them took. Pure.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "../trace/call.h"
#include "undisturbed.h"

namespace gpushim::analysis {

// `calls` in order of enter; the first of each chain is given its times, and `chain`. `cost` by device.
void time_chains(std::vector<Call>& calls, std::span<const Lane> lanes,
                 const std::map<int64_t, OwnCost>& cost);

}  // namespace gpushim::analysis
