// What a trace says of CUPTI, where device times were asked for by it: whether it was had, and what it lost.
// Pure.
#pragma once

#include <optional>
#include <string>

#include "../sqlite/database.h"

namespace gpushim::analysis {

// One sentence for whoever asked for it; none: it was not asked for, or gave all that there was.
std::optional<std::string> device_source_note(const Database& trace);

bool is_timed_by_cupti(const Database& trace);

}  // namespace gpushim::analysis
