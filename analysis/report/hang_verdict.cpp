// A job that hung says so before anything else: for how long nothing moved, who waits in what, who is
// missing.
#include "hang.h"
#include "hang_text.h"
#include "section.h"

namespace gpushim::analysis::section_hang {

namespace {

void write(const ReportSource& source, Report& report) {
    const auto hang = hang_of(source);
    report.json.set("hang", hang_json(hang, source.traces != nullptr));
    if (!hang) return;
    std::string label = "HUNG    ";
    for (const std::string& line : hang_lines(*hang)) {
        report.line(label + line);
        label = "        ";
    }
    report.line("        all that follows is of the time before");
}

constexpr Section kSection = {"hang_verdict", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_hang
