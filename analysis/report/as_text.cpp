#include <unistd.h>

#include <algorithm>

#include "../terminal/style.h"
#include "../terminal/terminal.h"
#include "../text/escape.h"
#include "printed.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kWidestLine = 110;

std::string padded(const std::string& text, size_t width, bool right) {
    const std::string fill(width - width_of(text), ' ');
    return right ? fill + text : text + fill;
}

struct TextWriter {
    std::vector<std::string> lines;

    void operator()(const Line& line) {
        std::string rest = shortened(for_terminal(line.text), kLongestText);
        while (line.indent > 0 && width_of(rest) > kWidestLine) {
            const size_t space = rest.rfind(' ', bytes_within(rest, kWidestLine));
            if (space == std::string::npos || space <= line.indent) break;  // one long word
            lines.push_back(rest.substr(0, rest.find_last_not_of(' ', space) + 1));
            rest = std::string(line.indent, ' ') + rest.substr(space + 1);
        }
        lines.push_back(rest);
    }

    void operator()(const Table& table) {
        std::vector<std::vector<std::string>> rows = table.rows;
        std::vector<size_t> widths(rows[0].size());
        for (auto& row : rows) {
            for (size_t i = 0; i < row.size(); ++i) {
                row[i] = shortened(for_terminal(row[i]), kWidestName);
                widths[i] = std::max(widths[i], width_of(row[i]) + (&row != &rows[0] && i == 0 ? 2 : 0));
            }
        }
        for (const auto& row : rows) {
            std::string text;
            for (size_t i = 0; i < row.size(); ++i) {
                const std::string margin = i == 0 && &row != &rows[0] ? "  " : "";
                text += (i == 0 ? "" : "  ") + padded(margin + row[i], widths[i], table.alignment[i] == 'r');
            }
            text.erase(text.find_last_not_of(' ') + 1);
            lines.push_back(text);
        }
        if (const std::string rest = rest_of(table); !rest.empty()) lines.push_back("  " + rest);
    }
};

}  // namespace

std::string rest_of(const Table& table) {
    return table.left_out == 0 ? ""
                               : "… and " + std::to_string(table.left_out) + " more: --json has them all";
}

std::vector<std::string> as_text(const Report& report) {
    TextWriter writer;
    for (const auto& block : report.blocks) std::visit(writer, block);
    return std::move(writer.lines);
}

std::vector<std::string> as_printed(const Report& report) {
    std::vector<std::string> lines = as_text(report);
    if (has_colours(STDOUT_FILENO))
        for (std::string& line : lines) line = styled_line(line);
    return lines;
}

}  // namespace gpushim::analysis
