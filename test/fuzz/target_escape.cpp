// Names at every place they are shown: what comes out is text there, and nothing acts.
#include <algorithm>
#include <string>

#include "analysis/importer/kineto/json_scanner.h"
#include "analysis/report/printed.h"
#include "analysis/text/escape.h"
#include "target.h"

namespace {

using namespace gpushim::analysis;

bool acts_on_terminal(std::string_view text, std::string_view but_for = "") {
    for (size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if ((byte < 0x20 || byte == 0x7f) && but_for.find(text[i]) == std::string_view::npos) return true;
        const std::string_view next = text.substr(i, 3);
        // Controls of 0x80 to 0x9f, and what ends lines or turns them round.
        if (byte == 0xc2 && next.size() > 1 && static_cast<unsigned char>(next[1]) < 0xa0) return true;
        if (next >= "\xe2\x80\xa8" && next <= "\xe2\x80\xae") return true;
        if (next >= "\xe2\x81\xa6" && next <= "\xe2\x81\xa9") return true;
    }
    return false;
}

void check_csv(std::string_view name) {
    const std::string cell = for_csv(name);
    fuzz::require(!acts_on_terminal(cell, "\n\t"), "CSV that acts");
    const bool quoted = cell.starts_with('"');
    const std::string_view inner =
        quoted ? std::string_view(cell).substr(1, cell.size() - 2) : std::string_view(cell);
    fuzz::require(
        quoted ? cell.size() > 1 && cell.ends_with('"') : cell.find_first_of("\",;\t\n") == std::string::npos,
        "a cell of CSV that is none");
    for (size_t i = 0; i < inner.size(); ++i)
        if (inner[i] == '"') fuzz::require(++i < inner.size() && inner[i] == '"', "a quote alone in CSV");
    fuzz::require(inner.empty() || std::string_view("=+-@\t\n\r").find(inner[0]) == std::string_view::npos,
                  "a formula in CSV");
}

void check_json(std::string_view name) {
    const std::string text = for_json(name);
    fuzz::require(!acts_on_terminal(text), "JSON that acts");
    JsonScanner json(text);
    std::string_view value;
    fuzz::require(json.text(value) && json.used() == text.size(), "JSON that is none");
}

// Outside of code spans nothing but our own words stands in a row.
void check_markdown(std::string_view name) {
    Report report;
    report.table("l", {{"name"}, {std::string(name)}}, 10);
    for (const std::string& line : as_markdown(report)) {
        fuzz::require(!acts_on_terminal(line), "Markdown that acts");
        std::string bare;
        for (size_t i = 0; i < line.size();) {
            const size_t end = std::min(line.find_first_not_of('`', i), line.size());
            if (end == i) {
                bare += line[i++];
                continue;
            }
            const std::string fence = line.substr(i, end - i);
            size_t close = end;
            do close = line.find(fence, close == end ? end : close + 1);
            while (close != std::string::npos &&
                   (line[close - 1] == '`' ||
                    (close + fence.size() < line.size() && line[close + fence.size()] == '`')));
            fuzz::require(close != std::string::npos, "a code span without an end");
            i = close + fence.size();
        }
        fuzz::require(bare.find_first_of("<>[]&@*_~#$!\\{}^`") == std::string::npos, "markup in Markdown");
        fuzz::require(bare.find("://") == std::string::npos, "a link in Markdown");
    }
}

void escape(std::string_view name) {
    const std::string shown = for_terminal(name);
    fuzz::require(!acts_on_terminal(shown), "a terminal that is acted on");
    const std::string cut = shortened(shown, 20);
    fuzz::require(width_of(cut) <= 20 && !acts_on_terminal(cut), "too wide");
    fuzz::require(for_terminal(cut) == cut, "cut within a character");
    check_csv(name);
    check_json(name);
    check_markdown(name);
    Report report;
    report.table("l", {{"name"}, {std::string(name)}}, 10);
    report.line(for_terminal(name));
    for (const std::string& line : as_text(report))
        fuzz::require(!acts_on_terminal(line), "a report that acts");
}

const fuzz::Registration kTarget({"escape", "names, at every place they are shown", escape});

}  // namespace
