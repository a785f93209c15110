#include "analysis/report/fit.h"

#include <catch2/catch.hpp>

#include "analysis/report/printed.h"

namespace fit_test {

using namespace gpushim::analysis;

namespace {

void add_table(Report& report, const std::string& heading, size_t rows, size_t least, bool may_be_words) {
    std::vector<std::vector<std::string>> table = {{heading, "pass", "kernels", "share"}};
    for (size_t i = 0; i < rows; ++i)
        table.push_back({heading.substr(0, 1) + std::to_string(i), i == 1 ? "backward" : "-", "7",
                         std::to_string(90 - i) + " %"});
    report.line("");
    Table& added = report.table("llrr", std::move(table), 10);
    added.least = least;
    added.may_be_words = may_be_words;
    added.figure = 3;
}

// So many lines, then tables of 12 kernels, 7 operators and 5 modules: 30 lines more with their headings,
// empty lines before them, "… and 2 more" kernels and the last line.
std::vector<std::string> fitted(size_t lines, size_t modules = 5) {
    Report report;
    report.has_trouble = true;
    for (size_t i = 0; i < lines; ++i) report.line("LINE");
    add_table(report, "by name", 12, 5, false);
    add_table(report, "OPERATORS", 7, 3, true);
    add_table(report, "MODULES", modules, 3, true);
    report.line("more");
    fit(report);
    return as_text(report);
}

size_t count(const std::vector<std::string>& lines, const std::string& begin) {
    size_t there = 0;
    for (const std::string& line : lines) there += line.starts_with(begin) ? 1 : 0;
    return there;
}

}  // namespace

TEST_CASE("a report of sixty lines is as it was", "[fit]") {
    const std::vector<std::string> lines = fitted(30);
    CHECK(lines.size() == kMostLines);
    CHECK(count(lines, "  O") == 7);
    CHECK(count(lines, "  M") == 5);
    CHECK(count(lines, "  b") == 10);
}

TEST_CASE("the last table gets fewer rows first", "[fit]") {
    const std::vector<std::string> lines = fitted(31);
    CHECK(lines.size() == kMostLines);
    CHECK(count(lines, "  M") == 3);
    CHECK(count(lines, "  O") == 7);
}

TEST_CASE("one row less would be a line that says so", "[fit]") { CHECK(count(fitted(32, 4), "  M") == 4); }

TEST_CASE("then it is words: what rows are called, and their figure", "[fit]") {
    const std::vector<std::string> lines = fitted(35);
    CHECK(lines.size() == 56);
    CHECK(lines[lines.size() - 2] == "MODULES    share: M0 90 %, M1 backward 89 %, M2 88 %, … and 2 more");
    CHECK(count(lines, "  O") == 3);
    CHECK(count(lines, "  b") == 10);
}

TEST_CASE("other tables get fewer rows last", "[fit]") {
    CHECK(count(fitted(40), "  b") == 10);
    const std::vector<std::string> lines = fitted(45);
    CHECK(count(lines, "OPERATORS  share: O0 90 %, O1 backward 89 %") == 1);
    CHECK(count(lines, "  b") == 5);
    CHECK(lines.size() == 56);
}

TEST_CASE("a table that is words takes one line", "[fit]") {
    Report report;
    report.has_trouble = true;
    for (size_t i = 0; i < 60; ++i) report.line("LINE");
    Table& table = report.table("lr",
                                {{"OPERATORS", "GPU time"},
                                 {"aten::cudnn_convolution_backward_weight", "283 ms"},
                                 {"aten::cudnn_convolution_backward_input", "264 ms"},
                                 {"aten::cudnn_convolution", "255 ms"}},
                                10);
    table.may_be_words = true;
    table.figure = 1;
    fit(report);
    CHECK(as_text(report).back() ==
          "OPERATORS  GPU time: aten::cudnn_convolution_backward_weight 283 ms, … and 2 more");
}

TEST_CASE("then lines go that may, the last one first, and then more rows", "[fit]") {
    Report report;
    report.has_trouble = true;
    for (size_t i = 0; i < 52; ++i) report.line("LINE");
    report.paragraph("first", 3, true);
    report.paragraph("second", 3, true);
    add_table(report, "by name", 5, 5, false);
    REQUIRE(as_text(report).size() == 61);
    Report longer = report;
    fit(report);
    CHECK(count(as_text(report), "first") == 1);
    CHECK(count(as_text(report), "second") == 0);
    longer.line("LINE");
    longer.line("LINE");
    fit(longer);
    CHECK(count(as_text(longer), "first") == 0);
    CHECK(count(as_text(longer), "  b") == 3);
    CHECK(as_text(longer).size() == kMostLines);
}

TEST_CASE("a report without trouble is shorter", "[fit]") {
    Report report;
    for (size_t i = 0; i < 35; ++i) report.line("LINE");
    add_table(report, "by name", 10, 5, false);
    Report troubled = report;
    troubled.has_trouble = true;
    fit(report);
    fit(troubled);
    CHECK(count(as_text(report), "  b") == 5);
    CHECK(as_text(report).size() <= kMostWithoutTrouble);
    CHECK(count(as_text(troubled), "  b") == 10);
}

TEST_CASE("what is no table stays", "[fit]") { CHECK(count(fitted(200), "LINE") == 200); }

}  // namespace fit_test
