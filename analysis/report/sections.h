// All sections of the report, by place: for who asks for one of them. One thread.
#pragma once

#include <vector>

#include "section.h"

namespace gpushim::analysis {

const std::vector<const Section*>& report_sections();

}  // namespace gpushim::analysis
