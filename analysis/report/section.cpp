#include "section.h"

#include <algorithm>
#include <iterator>

#include "contradictions.h"
#include "sections.h"

namespace gpushim::analysis {

namespace {

std::vector<const Section*>& sections() {
    static std::vector<const Section*> all;
    return all;
}

}  // namespace

void Report::add(Report&& part) {
    std::move(part.blocks.begin(), part.blocks.end(), std::back_inserter(blocks));
    for (const std::string& key : part.json.keys()) json.set(key, part.json[key]);
}

void Report::line(const std::string& text) { blocks.push_back(Line{text}); }
void Report::paragraph(const std::string& text, size_t indent) { blocks.push_back(Line{text, indent}); }

void Report::table(const char* alignment, std::vector<std::vector<std::string>> rows, size_t most) {
    const size_t left_out = rows.size() > most + 1 ? rows.size() - most - 1 : 0;
    rows.resize(rows.size() - left_out);
    blocks.push_back(Table{alignment, std::move(rows), left_out});
}

SectionRegistration::SectionRegistration(const Section& section) { sections().push_back(&section); }

const std::vector<const Section*>& report_sections() {
    std::sort(sections().begin(), sections().end(), [](auto a, auto b) { return a->place < b->place; });
    return sections();
}

Report write_report(const ReportSource& source) {
    Report report;
    report.json.set("schema", 1);
    const std::vector<Contradiction> contradictions = contradictions_of(source);
    for (const Section* section : report_sections()) {
        Report written;
        section->write(source, written);
        const std::string_view name = kSections[section->place];
        if (is_withheld(name, contradictions)) written = withheld(name, written);
        if (section->is_detail && !source.options.all) written.blocks.clear();
        report.add(std::move(written));
    }
    if (!source.options.all)
        report.line("more: gpushim report --all, --json; ask: gpushim sql FOLDER \"SELECT * FROM finding\"");
    return report;
}

}  // namespace gpushim::analysis
