// What a GPU's time consists of, as all drawings of a page name and colour it: the parts of v_gpu_counted,
// and idle time by the groups of its causes. Each instant is in one part, so the parts add up to the step.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "../chart/frame.h"
#include "../idle/cause.h"
#include "../sqlite/database.h"

namespace gpushim::analysis {

enum TimeColour : size_t {
    kComputeColour = 2,
    kMemoryColour = 3,
    kPeerColour = 4,
    kExposedColour = 5,
    kIdleColour = 7,  // as a whole, whatever its cause
    kOtherColour = 11,
    kOverlapColour = 12,
    kUntoldColour = 13,  // communication of which it is not known how long it waited
};
inline constexpr size_t kColourOfGroup[] = {0, 1, 6, 8, 9, 10, 11};  // in the order of CauseGroup
static_assert(std::size(kColourOfGroup) == std::size(kCauseGroups));

// From the ground of a column up: what the GPU did, then why it did nothing.
std::vector<LegendEntry> time_parts();

// GPUs of which nothing says how long they waited for other ranks (v_unknown_wait): their waits and their
// exposed communication are one part.
std::map<int64_t, std::string> unknown_waits(const Database& run);

// One of the parts above. group: of idle time.
size_t part_of_group(const std::string& group);
enum TimePart : size_t { kComputePart, kPeerPart, kExposedPart, kUntoldPart, kMemoryPart, kFirstIdlePart };

}  // namespace gpushim::analysis
