#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "../terminal/style.h"
#include "../terminal/terminal.h"
#include "../text/escape.h"
#include "printed.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kFewestOfName = 38;  // letters, in a table that is too wide

// Where a line goes on that does not say where: a little to the right, or behind the word in capitals.
size_t indent_of(const Line& line) {
    constexpr size_t kBehindWord = 11, kFurther = 2;
    if (line.indent > 0) return line.indent;
    const size_t own = std::min(line.text.find_first_not_of(' '), line.text.size());
    return own == 0 ? kBehindWord : std::min(own, kBehindWord) + kFurther;
}

std::string padded(const std::string& text, size_t width, bool right) {
    const std::string fill(width - width_of(text), ' ');
    return right ? fill + text : text + fill;
}

struct TextWriter {
    std::vector<std::string> lines;

    void operator()(const Line& line) {
        std::string rest = shortened(for_terminal(line.text), kLongestText);
        const size_t indent = indent_of(line);
        while (width_of(rest) > kReportWidth) {
            const size_t fits = bytes_within(rest, kReportWidth);
            const size_t space = rest.rfind(' ', fits);
            const bool is_long_word = space == std::string::npos || space <= indent;
            const size_t end = is_long_word ? fits : space;
            lines.push_back(rest.substr(0, rest.find_last_not_of(' ', end - 1) + 1));
            rest = std::string(indent, ' ') + rest.substr(is_long_word ? end : space + 1);
        }
        lines.push_back(rest);
    }

    void operator()(const Table& table) {
        std::vector<std::vector<std::string>> rows = table.rows;
        std::vector<size_t> widths(rows[0].size());
        const auto measure = [&](size_t column, size_t most) {
            widths[column] = 0;
            for (auto& row : rows) {
                row[column] = shortened(for_terminal(row[column]), most);
                const size_t margin = &row != &rows[0] && column == 0 ? 2 : 0;
                widths[column] = std::max(widths[column], width_of(row[column]) + margin);
            }
        };
        for (size_t i = 0; i < widths.size(); ++i) measure(i, kWidestName);
        // Names give way, the first ones first; figures do not.
        for (size_t i = 0; i < widths.size(); ++i) {
            const size_t margin = i == 0 ? 2 : 0;
            const size_t all = std::accumulate(widths.begin(), widths.end(), 2 * (widths.size() - 1));
            if (all > kReportWidth && widths[i] > kFewestOfName + margin && table.alignment[i] == 'l')
                measure(i, std::max(kFewestOfName + all - kReportWidth, widths[i] - margin) -
                               (all - kReportWidth));
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
