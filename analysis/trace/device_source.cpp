#include "device_source.h"

#include "../text/units.h"

namespace gpushim::analysis {

std::optional<std::string> device_source_note(const Database& trace) {
    if (!trace.has("device_source")) return {};
    const bool has_displaced = trace.columns_of("device_source").contains("displaced");
    Query source = trace.prepare("SELECT refused, error, dropped, records, " +
                                 std::string(has_displaced ? "displaced" : "NULL") +
                                 " FROM device_source ORDER BY mono_ns DESC LIMIT 1");
    if (!source.step()) return {};
    const int64_t records = source.maybe(3).value_or(0);
    const int64_t displaced = source.maybe(4).value_or(0);
    const std::string of_another_clock =
        count_text(displaced) + " of " + count_text(records) + " CUPTI records are of another clock";
    if (!source.is_null(0) && !source.is_null(3))
        return "CUPTI's times are not used: " + source.text(0) + ": " + of_another_clock +
               "; operations have host times from then on";
    if (!source.is_null(0))
        return "CUPTI was not available: " + source.text(0) +
               (source.is_null(1) ? "" : " (error " + std::to_string(source.number(1)) + ")") +
               "; device times come from events";
    const int64_t dropped = source.maybe(2).value_or(0);
    std::string note;
    if (dropped != 0)
        note = "CUPTI had no room for " + count_text(dropped) + " of " + count_text(dropped + records) +
               " records: these operations have host times";
    if (displaced != 0)
        note += (note.empty() ? "" : "; ") + of_another_clock + ": these operations have host times";
    return note.empty() ? std::nullopt : std::optional(note);
}

bool is_timed_by_cupti(const Database& trace) {
    if (trace.is_of_first_schema()) return false;
    Query level = trace.prepare("SELECT 1 FROM level_error WHERE level = 'cupti' LIMIT 1");
    return level.step();
}

}  // namespace gpushim::analysis
