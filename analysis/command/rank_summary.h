// Traces as rank summaries (run/summarise.h), for `gpushim analyze --rank-summary` and `gpushim run
// --summarise`. A summary that is there is replaced, nothing else is. Throws Failure.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "../run/pass/facts.h"

namespace gpushim::analysis {

// A summary of each trace beside it, as RANK.PID.summary of RANK.PID.db. What is printed is where they are.
// Returns the exit code.
int summarise_each(const std::vector<std::string>& words, const RunOptions& options);

// One summary of all of them, as one run.
int summarise_together(const std::vector<std::string>& words, const RunOptions& options,
                       const std::filesystem::path& place);

// At the end of a program: whatever fails is a line on stderr.
void summarise_left(const std::vector<std::filesystem::path>& traces);

}  // namespace gpushim::analysis
