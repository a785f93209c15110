// A hang as people and scripts read it. One thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "../text/json.h"
#include "hang.h"

namespace gpushim::analysis {

// The first line says for how long nothing moved, the others who is missing and who waits; not all, if many.
std::vector<std::string> hang_lines(const Hang& hang);

// Of no hang: for_ns is null, and why.
Json hang_json(const std::optional<Hang>& hang, bool has_traces);

}  // namespace gpushim::analysis
