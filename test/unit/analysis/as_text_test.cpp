#include <catch2/catch.hpp>

#include "analysis/report/printed.h"

namespace as_text_test {

using namespace gpushim::analysis;
using Lines = std::vector<std::string>;

TEST_CASE("columns are aligned, and what was left out is counted", "[printed]") {
    Report report;
    report.table("lr", {{"NAME", "count"}, {"a", "1"}, {"µs", "1,000"}, {"c", "3"}}, 2);
    CHECK(as_text(report) ==
          Lines{"NAME  count", "  a       1", "  µs  1,000", "  … and 1 more: --json has them all"});
}

TEST_CASE("a paragraph is wrapped at words, a line is not", "[printed]") {
    Report report;
    report.paragraph("HEAD " + std::string(60, 'a') + " " + std::string(60, 'b'), 5);
    report.line(std::string(130, 'c'));
    CHECK(as_text(report) ==
          Lines{"HEAD " + std::string(60, 'a'), "     " + std::string(60, 'b'), std::string(130, 'c')});
}

TEST_CASE("no wrapped line ends with blanks", "[printed]") {
    Report report;
    report.paragraph(std::string(60, 'a') + "  " + std::string(60, 'b'), 5);
    CHECK(as_text(report) == Lines{std::string(60, 'a'), "     " + std::string(60, 'b')});
}

TEST_CASE("names act on nobody and have an end", "[printed]") {
    Report report;
    report.line("ran  \x1b[2J" + std::string(1000, 'x'));
    report.table("l", {{"name"}, {std::string(100, 'y') + "\n"}}, 9);
    const Lines lines = as_text(report);
    CHECK(lines.at(0).substr(0, 12) == "ran  \\x1b[2J");
    CHECK(lines.at(0).size() < 410);
    CHECK(lines.at(2) == "  " + std::string(43, 'y') + "…");
}

}  // namespace as_text_test
