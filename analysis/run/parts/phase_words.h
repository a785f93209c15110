// What the name of a program's range says of the phase of the step, by the words of
// ../../trace/range_words.def. Names that say two phases, or none, say nothing. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "../../step/phases.h"

namespace gpushim::analysis {

std::optional<PhaseKind> phase_named(std::string_view range);

}  // namespace gpushim::analysis
