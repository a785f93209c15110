// The manual as text for a terminal, as Markdown, and as a page for man.
#include <algorithm>
#include <cstdio>
#include <span>

#include "../text/width.h"
#include "command.h"
#include "manual.h"
#include "shim/base/version.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kWidestLine = 110;

// The text cut at spaces, so that each line has at most so many columns.
std::vector<std::string> wrapped(std::string text, size_t columns) {
    std::vector<std::string> lines;
    while (width_of(text) > columns) {
        const size_t space = text.rfind(' ', bytes_within(text, columns));
        if (space == std::string::npos || space == 0) break;  // one long word
        lines.push_back(text.substr(0, space));
        text.erase(0, space + 1);
    }
    lines.push_back(text);
    return lines;
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
        text.replace(at, what.size(), with);
    return text;
}

// A cell of a table in Markdown.
std::string cell(const std::string& text) { return replaced(text, "|", "\\|"); }

void print_markdown_rows(const char* what, const std::vector<ManualRow>& rows) {
    const bool has_defaults =
        std::any_of(rows.begin(), rows.end(), [](const ManualRow& row) { return !row.by_default.empty(); });
    std::printf("\n| %s | meaning |%s\n|---|---|%s\n", what, has_defaults ? " default |" : "",
                has_defaults ? "---|" : "");
    for (const ManualRow& row : rows) {
        const std::string by_default = row.by_default.empty() ? " |" : " " + cell(row.by_default) + " |";
        std::printf("| `%s` | %s |%s\n", cell(row.typed).c_str(), cell(row.words).c_str(),
                    has_defaults ? by_default.c_str() : "");
    }
}

// Text of a page for man: `code` is bold, hyphens stay hyphens, and no line is a request.
std::string for_man(const std::string& text) {
    std::string page = replaced(replaced(text, "\\", "\\e"), "-", "\\-");
    bool is_code = false;
    for (size_t at = 0; (at = page.find('`', at)) != std::string::npos; is_code = !is_code)
        page.replace(at, 1, is_code ? "\\fR" : "\\fB");
    return page.starts_with('.') || page.starts_with('\'') ? "\\&" + page : page;
}

// They stand once, as variables.
bool are_variables(const Command& command) { return std::string_view(command.name) == "run"; }

void print_man_rows(const std::vector<ManualRow>& rows) {
    for (const ManualRow& row : rows)
        std::printf(".TP\n%s\n%s\n", for_man("`" + row.typed + "`").c_str(),
                    for_man(with_default(row.words, row.by_default)).c_str());
}

}  // namespace

std::string with_default(const std::string& words, const std::string& by_default) {
    return words + (by_default.empty() ? "" : " (default: " + by_default + ")");
}

void print_paragraph(const char* text) {
    if (*text == '\0') return;
    std::puts("");
    for (const std::string& line : wrapped(text, kWidestLine)) std::puts(line.c_str());
}

void print_rows(const std::vector<ManualRow>& rows) {
    size_t columns = 0;
    for (const ManualRow& row : rows) columns = std::max(columns, width_of(row.typed));
    const size_t left = std::min(columns, kWidestLine / 2), margin = left + 4;
    for (const ManualRow& row : rows) {
        const bool is_long = width_of(row.typed) > left;  // it has a line of its own
        if (is_long) std::printf("  %s\n", row.typed.c_str());
        std::string before = is_long ? std::string(margin, ' ') : "  " + padded(row.typed, left) + "  ";
        for (const std::string& line :
             wrapped(with_default(row.words, row.by_default), kWidestLine - margin)) {
            std::printf("%s%s\n", before.c_str(), line.c_str());
            before = std::string(margin, ' ');
        }
    }
}

void print_section(const ManualSection& section) {
    print_rows(section.rows);
    print_paragraph(section.words.c_str());
}

void print_as_markdown() {
    std::puts("## Commands\n");
    std::puts("Every command takes files or folders. The value of an option follows it, or an `=`.");
    for (const Command* command : all_commands()) {
        std::printf("\n### %s\n\n`%s`: %s.%s%s\n", command->name, usage_of(*command).c_str(),
                    command->summary, *command->details == '\0' ? "" : " ", command->details);
        if (are_variables(*command))
            std::puts("\nIts options are the [variables](#variables).");
        else if (!command->options.empty())
            print_markdown_rows("option", rows_of(*command));
    }
    for (const ManualSection& section : manual_sections()) {
        std::printf("\n## %s\n", section.title);
        if (!section.words.empty()) std::printf("\n%s\n", section.words.c_str());
        print_markdown_rows(section.what, section.rows);
    }
}

void print_for_man() {
    std::printf(".TH GPUSHIM 1 \"\" \"gpushim %s\"\n.SH NAME\n", kVersion);
    std::puts("gpushim \\- says where the time of GPU programs goes, by a preloaded library");
    std::puts(".SH SYNOPSIS\n.nf");
    for (const Command* command : all_commands()) std::puts(for_man(usage_of(*command)).c_str());
    std::puts(".fi\n.SH COMMANDS");
    for (const Command* command : all_commands()) {
        std::printf(".SS %s\n%s.\n%s\n", command->name, for_man(command->summary).c_str(),
                    for_man(command->details).c_str());
        if (are_variables(*command))
            std::puts("Its options stand with the variables, below ENVIRONMENT.");
        else
            print_man_rows(rows_of(*command));
    }
    for (const ManualSection& section : manual_sections()) {
        std::printf(".SH %s\n%s\n", section.man_title, for_man(section.words).c_str());
        print_man_rows(section.rows);
    }
}

}  // namespace gpushim::analysis
