// The part that computes what HolisticTraceAnalysis would say of a trace: writes hta_time and hta_gap.
#pragma once

#include <memory>

#include "../pass/part.h"

namespace gpushim::analysis {

std::unique_ptr<Part> make_hta_part(const TraceFacts& facts);

}  // namespace gpushim::analysis
