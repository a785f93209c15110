// From the traces of a run to its database: names and steps of each trace, then the collectives of all, then
// one pass over each trace, then what is derived. Traces in parallel, as many as there are cores; memory is
// that of one piece of each. Analysing again makes the same file.
#pragma once

#include <filesystem>

#include "../trace/inputs.h"
#include "pass/facts.h"
#include "sql/counted_steps.h"

namespace gpushim::analysis {

// Writes what there is to say of a run whose figures are all there: rows of `finding`.
using Advise = void (*)(sqlite3* run, CountedSteps basis);

// Writes the run to `place` and returns it. Throws Failure where that cannot be written.
std::filesystem::path analyze(const Inputs& inputs, const RunOptions& options,
                              const std::filesystem::path& place, Advise advise);

}  // namespace gpushim::analysis
