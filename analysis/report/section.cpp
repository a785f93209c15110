#include "section.h"

#include <algorithm>

#include "../text/escape.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kWidestName = 44;
constexpr size_t kWidestLine = 110;

std::vector<const Section*>& sections() {
    static std::vector<const Section*> all;
    return all;
}

std::string padded(const std::string& text, size_t width, bool right) {
    const std::string fill(width - width_of(text), ' ');
    return right ? fill + text : text + fill;
}

}  // namespace

void Report::line(const std::string& text) { lines.push_back(for_terminal(text)); }

void Report::paragraph(const std::string& text, size_t indent) {
    std::string rest = for_terminal(text);
    while (width_of(rest) > kWidestLine) {
        size_t end = 0, width = 0;  // one byte behind kWidestLine characters
        for (; end < rest.size() && width <= kWidestLine; ++end) width += (rest[end] & 0xC0) != 0x80;
        const size_t space = rest.rfind(' ', end - 1);
        if (space == std::string::npos || space <= indent) break;  // one long word
        lines.push_back(rest.substr(0, space));
        rest = std::string(indent, ' ') + rest.substr(space + 1);
    }
    lines.push_back(rest);
}

void Report::table(const char* alignment, std::vector<std::vector<std::string>> rows, size_t most) {
    const size_t left_out = rows.size() > most + 1 ? rows.size() - most - 1 : 0;
    rows.resize(rows.size() - left_out);
    std::vector<size_t> widths(rows[0].size());
    for (auto& row : rows) {
        for (size_t i = 0; i < row.size(); ++i) {
            row[i] = shortened(row[i], kWidestName);
            widths[i] = std::max(widths[i], width_of(row[i]) + (&row != &rows[0] && i == 0 ? 2 : 0));
        }
    }
    for (const auto& row : rows) {
        std::string text;
        for (size_t i = 0; i < row.size(); ++i) {
            const std::string margin = i == 0 && &row != &rows[0] ? "  " : "";
            text += (i == 0 ? "" : "  ") + padded(margin + row[i], widths[i], alignment[i] == 'r');
        }
        text.erase(text.find_last_not_of(' ') + 1);
        line(text);
    }
    if (left_out != 0) line("  … and " + std::to_string(left_out) + " more: --json has them all");
}

SectionRegistration::SectionRegistration(const Section& section) { sections().push_back(&section); }

Report write_report(const ReportSource& source) {
    std::sort(sections().begin(), sections().end(), [](auto a, auto b) { return a->place < b->place; });
    Report report;
    report.json.set("schema", 1);
    for (const Section* section : sections()) {
        const size_t before = report.lines.size();
        section->write(source, report);
        if (section->is_detail && !source.options.all) report.lines.resize(before);
    }
    if (!source.options.all)
        report.line("more: gpushim report --all, --json; ask: gpushim sql \"SELECT * FROM finding\"");
    return report;
}

}  // namespace gpushim::analysis
