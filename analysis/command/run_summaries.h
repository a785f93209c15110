// The runs that a command is given, each as one line or as what is compared. Options that are asked for:
// samples-per-step, params, bandwidth.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "../compare/side.h"
#include "../compare/summary.h"
#include "command.h"

namespace gpushim::analysis {

// In the order given; complete becomes false where a run could not be read as a whole. Throws Failure.
std::vector<RunSummary> open_summaries(const Arguments& arguments, bool& complete);

// The same runs with all that a comparison asks for; each says itself whether it is whole.
std::vector<Side> open_sides(const Arguments& arguments);

// The file's or folder's own name.
std::string name_of(const std::filesystem::path& word);

}  // namespace gpushim::analysis
