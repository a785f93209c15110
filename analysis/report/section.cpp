#include "section.h"

#include <algorithm>
#include <span>

#include "../text/width.h"
#include "contradictions.h"
#include "facts.h"
#include "fit.h"
#include "printed.h"
#include "sections.h"

namespace gpushim::analysis {

namespace {

std::vector<const Section*>& sections() {
    static std::vector<const Section*> all;
    return all;
}

bool is_among(std::span<const std::string_view> names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

// To what begins with a word in capitals.
void say_whole_run(Report& section) {
    constexpr const char* kWords = "whole run";
    for (size_t i = 0; i < section.blocks.size(); ++i) {
        if (auto* const table = std::get_if<Table>(&section.blocks[i])) {
            table->rows[0][0] += std::string(", ") + kWords;
            return;
        }
        std::string& text = std::get<Line>(section.blocks[i]).text;
        if (text.empty()) continue;
        if (width_of(text) + 14 <= kReportWidth)
            text += std::string("   (") + kWords + ")";
        else
            section.blocks.insert(section.blocks.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                  Line{std::string(11, ' ') + "(" + kWords + ")"});
        return;
    }
}

void add_known(std::vector<std::string>& names, const Json& said) {
    for (const std::string& key : said.keys())
        if (!said[key].is_null() && !key.ends_with("_why") && !is_among(kOfWholeRun, key))
            names.push_back(key);
}

// What programs are told of it.
Json asked_steps(const ReportSource& source, const std::vector<std::string>& members) {
    Json names = Json::array();
    for (const std::string& name : members) names.push(Json(name));
    return Facts()
        .maybe("from", source.options.from_step, "not asked for: from the first")
        .maybe("to", source.options.to_step, "not asked for: to the last")
        .known("members", std::move(names))
        .json();
}

}  // namespace

void Report::add(Report&& part) {
    std::move(part.blocks.begin(), part.blocks.end(), std::back_inserter(blocks));
    for (const std::string& key : part.json.keys()) json.set(key, part.json[key]);
    has_trouble |= part.has_trouble;
}

void Report::line(const std::string& text) { blocks.push_back(Line{text}); }
void Report::paragraph(const std::string& text, size_t indent, bool may_go) {
    blocks.push_back(Line{text, indent, may_go});
}

Table& Report::table(const char* alignment, std::vector<std::vector<std::string>> rows, size_t most) {
    const size_t left_out = rows.size() > most + 1 ? rows.size() - most - 1 : 0;
    rows.resize(rows.size() - left_out);
    return std::get<Table>(blocks.emplace_back(Table{alignment, std::move(rows), left_out}));
}

SectionRegistration::SectionRegistration(const Section& section) { sections().push_back(&section); }

const std::vector<const Section*>& report_sections() {
    std::sort(sections().begin(), sections().end(), [](auto a, auto b) { return a->place < b->place; });
    return sections();
}

Report write_report(const ReportSource& source) {
    Report report;
    report.json.set("schema", 2);  // 1 had no verdict, and productive time with copies in it
    const std::vector<Contradiction>& contradictions = contradictions_of(source);
    std::vector<std::string> narrowed;
    for (const Section* section : report_sections()) {
        if (section->is_detail && source.options.only_lines && !source.options.all) continue;
        Report written;
        section->write(source, written);
        const std::string_view name = kSections[section->place];
        if (is_withheld(name, contradictions)) written = withheld(name, written);
        if (section->is_detail && !source.options.all) written.blocks.clear();
        if (is_among(kOfSteps, name) || written.is_of_steps)
            add_known(narrowed, written.json);
        else if (source.is_part_of_run() && !is_among(kOfNoSteps, name))
            say_whole_run(written);
        report.add(std::move(written));
    }
    if (source.is_part_of_run()) report.json.set("asked_steps", asked_steps(source, narrowed));
    if (source.options.all) return report;
    report.line("more: gpushim report --all, --json; ask: gpushim sql FOLDER \"SELECT * FROM finding\"");
    fit(report);
    return report;
}

}  // namespace gpushim::analysis
