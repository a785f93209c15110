// The page of a night: the verdict, the row of nights it stands in, and what a step is made of beside the
// night it was compared with. The figures are those of the report.
#pragma once

#include <string>

#include "nightly_report.h"

namespace gpushim::analysis {

std::string nightly_page(const History& history, const std::vector<Tonight>& all,
                         const NightlyOptions& options);

}  // namespace gpushim::analysis
