#include "device_source.h"

#include "../text/units.h"

namespace gpushim::analysis {

std::optional<std::string> device_source_note(const Database& trace) {
    if (!trace.has("device_source")) return {};
    Query source = trace.prepare(
        "SELECT refused, error, dropped, records FROM device_source ORDER BY mono_ns DESC LIMIT 1");
    if (!source.step()) return {};
    if (!source.is_null(0))
        return "CUPTI was not to be had: " + source.text(0) +
               (source.is_null(1) ? "" : " (error " + std::to_string(source.number(1)) + ")") +
               "; device times are by events";
    const int64_t dropped = source.maybe(2).value_or(0);
    if (dropped == 0) return {};
    return "CUPTI had no room for " + count_text(dropped) + " of " +
           count_text(dropped + source.maybe(3).value_or(0)) +
           " records: these operations have the host's times";
}

bool is_timed_by_cupti(const Database& trace) {
    if (trace.is_of_first_schema()) return false;
    Query level = trace.prepare("SELECT 1 FROM level_error WHERE level = 'cupti' LIMIT 1");
    return level.step();
}

}  // namespace gpushim::analysis
