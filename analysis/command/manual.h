// The reference part of the manual: commands with their options, variables, exit codes, files, examples. Each
// stands once, here or in the file of its command. `--help`, `gpushim help`, the page for man and
// analysis/manual.md are printed from it (`make manual` rewrites the latter).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpushim::analysis {

struct Command;
struct Option;

struct ManualRow {
    std::string typed;       // "--max-mb N"
    std::string words;       // what that does, or is
    std::string by_default;  // empty: nothing
};

struct ManualSection {
    const char* word;       // `gpushim help WORD`
    const char* title;      // a heading of analysis/manual.md
    const char* man_title;  // a heading of the page for man
    const char* what;       // that its rows have on the left
    std::string words;      // what to know before the rows
    std::vector<ManualRow> rows;
};

std::string variable_of(std::string_view option);  // --max-mb of `run` is GPUSHIM_MAX_MB
std::string usage_of(const Command& command);      // "gpushim report [RUN_OR_TRACES…]"
std::vector<ManualRow> rows_of(const Command& command);

// Variables, exit codes, files, examples.
std::vector<ManualSection> manual_sections();

std::string with_default(const std::string& words, const std::string& by_default);
void print_paragraph(
    const char* text);  // an empty line, then the text in lines that fit; nothing if it is empty
void print_rows(const std::vector<ManualRow>& rows);  // what is typed, and beside it what it does
void print_section(const ManualSection& section);
void print_as_markdown();
void print_for_man();

}  // namespace gpushim::analysis
