// GitHub's Markdown. What begins a section is bold, what goes on with it are items of a list, tables are
// tables. A word in which anything but letters, digits and a few signs stands is a code span: nothing in it
// is markup, HTML, a formula, a link or a mention.
#include <algorithm>
#include <cctype>

#include "../text/escape.h"
#include "printed.h"

namespace gpushim::analysis {

namespace {

constexpr std::string_view kHarmless = ".,;%()/+-=\"'";

bool is_harmless(std::string_view word) {
    if (word.starts_with("www.")) return false;
    return std::all_of(word.begin(), word.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte >= 0x80 || std::isalnum(byte) != 0 || kHarmless.find(c) != std::string_view::npos;
    });
}

// What would be a list or a heading at the begin of a line.
bool begins_something(std::string_view word) {
    const size_t digits = std::min(word.find_first_not_of("0123456789"), word.size());
    const bool is_number = digits > 0 && (word.substr(digits) == "." || word.substr(digits) == ")");
    return is_number || word.find_first_not_of("-+=") == std::string_view::npos;
}

// Between more backticks than stand in it in a row.
std::string code(const std::string& text) {
    size_t most = 0, row = 0;
    for (const char c : text) most = std::max(most, row = c == '`' ? row + 1 : 0);
    const std::string ticks(most + 1, '`'), space(most > 0 ? " " : "");
    return ticks + space + text + space + ticks;
}

// In tables a bar parts cells, even in code, if it has no backslash; behind one it stands as it is.
std::string cell(const std::string& raw) {
    std::string text = shortened(for_terminal(raw), kWidestName);
    text.erase(0, text.find_first_not_of(' '));
    if (text.find_first_not_of(' ') == std::string::npos) return "";
    bool harmless = true;
    for (size_t from = 0; from < text.size();) {
        const size_t end = std::min(text.find(' ', from), text.size());
        harmless &= is_harmless(std::string_view(text).substr(from, end - from));
        from = end + 1;
    }
    if (harmless) return text;
    std::string safe;
    for (const char c : code(text)) safe += c == '|' ? std::string("\\|") : std::string(1, c);
    return safe;
}

std::string words(std::string_view text) {
    std::string line;
    while (!text.empty()) {
        const size_t begin = std::min(text.find_first_not_of(' '), text.size());
        text.remove_prefix(begin);
        const std::string_view word = text.substr(0, text.find(' '));
        if (word.empty()) break;
        text.remove_prefix(word.size());
        const bool is_first = line.empty();
        const bool ends_in_colon = word.ends_with(':') && word.size() > 1;
        const std::string_view plain = ends_in_colon ? word.substr(0, word.size() - 1) : word;
        const bool is_plain = is_harmless(plain) && !(is_first && begins_something(plain));
        line += (is_first ? "" : " ") + (is_plain ? std::string(word) : code(std::string(word)));
    }
    return line;
}

struct MarkdownWriter {
    std::vector<std::string> lines;

    void gap() {
        if (!lines.empty() && !lines.back().empty()) lines.emplace_back();
    }

    void operator()(const Line& line) {
        const std::string text = shortened(for_terminal(line.text), kLongestText);
        const std::string_view all = text;
        if (all.find_first_not_of(' ') == std::string_view::npos) return gap();
        if (all[0] == ' ') {
            lines.push_back("- " + words(all));
            return;
        }
        const size_t end = std::min(all.find(' '), all.size());
        gap();
        const std::string rest = words(all.substr(end));
        lines.push_back("**" + words(all.substr(0, end)) + "**" + (rest.empty() ? "" : " " + rest));
    }

    void operator()(const Table& table) {
        gap();
        for (size_t i = 0; i < table.rows.size(); ++i) {
            std::string text = "|", rule = "|";
            for (size_t j = 0; j < table.rows[i].size(); ++j) {
                text += " " + cell(table.rows[i][j]) + " |";
                rule += table.alignment[j] == 'r' ? " --: |" : " :-- |";
            }
            lines.push_back(text);
            if (i == 0) lines.push_back(rule);
        }
        lines.emplace_back();
        if (const std::string rest = rest_of(table); !rest.empty()) lines.push_back("- " + words(rest));
    }
};

}  // namespace

std::vector<std::string> as_markdown(const Report& report) {
    MarkdownWriter writer;
    for (const auto& block : report.blocks) std::visit(writer, block);
    return std::move(writer.lines);
}

}  // namespace gpushim::analysis
