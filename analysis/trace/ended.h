// Whether a trace holds all that its process did: after a power loss, or a kill where rings do not outlive
// it, what came last is missing; while the process runs, it is not there yet. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "../sqlite/database.h"

namespace gpushim::analysis {

// None: the trace does not say, as those of other tools and of older versions.
std::optional<bool> has_ended(const Database& trace);

// True: its process ended without a word or before all was written, and its events were put in afterwards.
bool was_recovered(const Database& trace);

// Of so many traces that have not.
std::string not_ended_text(int64_t traces);

}  // namespace gpushim::analysis
