// Where a page shows the rows that a finding was read from: parts of it, and spans of its timelines.
#pragma once

#include <string>
#include <vector>

#include "part.h"

namespace gpushim::analysis {

struct EvidenceLink {
    std::string part, words;
    std::string find = {};  // the name of spans of the timeline, or a part of it; empty: the part as a whole
};

std::vector<EvidenceLink> evidence_links(const PageInput& input, const Json& finding);

// Of all findings what their links find, each once.
std::vector<std::string> found_by_links(const PageInput& input);

}  // namespace gpushim::analysis
