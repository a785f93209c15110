#include "ended.h"

#include "../text/units.h"

namespace gpushim::analysis {

std::optional<bool> has_ended(const Database& trace) {
    Query how = trace.prepare("SELECT value <> 'no' FROM meta WHERE key = 'ended'");
    if (!how.step()) return std::nullopt;
    return how.number(0) != 0;
}

bool was_recovered(const Database& trace) {
    Query how = trace.prepare("SELECT 1 FROM meta WHERE key = 'ended' AND value = 'recovered'");
    return how.step();
}

std::string not_ended_text(int64_t traces) {
    return count_text(traces) + (traces == 1 ? " trace has" : " traces have") +
           " no end: still running, or the power failed; the last 2 s may be missing";
}

}  // namespace gpushim::analysis
