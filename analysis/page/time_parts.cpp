#include "time_parts.h"

#include <algorithm>

namespace gpushim::analysis {

std::vector<LegendEntry> time_parts() {
    std::vector<LegendEntry> parts = {{"compute", kComputeColour},
                                      {"waiting for peers", kPeerColour},
                                      {"exposed communication", kExposedColour},
                                      {"communication, waits not known", kUntoldColour},
                                      {"memory", kMemoryColour}};
    for (size_t i = 0; i < std::size(kCauseGroups); ++i)
        parts.push_back({std::string("idle: ") + kCauseGroups[i], kColourOfGroup[i]});
    return parts;
}

std::map<int64_t, std::string> unknown_waits(const Database& run) {
    std::map<int64_t, std::string> why;
    Query rows = run.prepare("SELECT gpu_id, why FROM v_unknown_wait");
    while (rows.step()) why[rows.number(0)] = rows.text(1);
    return why;
}

size_t part_of_group(const std::string& group) {
    const auto* const found = std::find(std::begin(kCauseGroups), std::end(kCauseGroups), group);
    const auto* const known = found == std::end(kCauseGroups) ? std::prev(found) : found;  // other
    return kFirstIdlePart + static_cast<size_t>(known - std::begin(kCauseGroups));
}

}  // namespace gpushim::analysis
