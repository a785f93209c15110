// The most memory of a GPU that was allocated at one time. By kind of memory: section memory, of traces.
#include "../text/units.h"
#include "section.h"

namespace gpushim::analysis::section_peak_memory {

namespace {

void write(const ReportSource& source, Report& report) {
    Query most = source.run.prepare(
        "SELECT memory_peak_bytes, memory_total_bytes, (SELECT count(*) FROM gpu) FROM gpu"
        " WHERE memory_peak_bytes IS NOT NULL ORDER BY CAST(memory_peak_bytes AS REAL)"
        " / coalesce(memory_total_bytes, memory_peak_bytes) DESC LIMIT 1");
    if (!most.step()) return;
    report.line("MEMORY     peak " + memory_text(most.real(0)) +
                (most.is_null(1) ? "" : " of " + memory_text(most.real(1))) +
                (most.number(2) > 1 ? ", on the fullest GPU" : ""));
}

constexpr Section kSection = {"peak_memory", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_peak_memory
