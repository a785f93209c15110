#include <catch2/catch.hpp>

#include "analysis/report/printed.h"
#include "analysis/text/width.h"

namespace as_text_test {

using namespace gpushim::analysis;
using Lines = std::vector<std::string>;

TEST_CASE("columns are aligned, and what was left out is counted", "[printed]") {
    Report report;
    report.table("lr", {{"NAME", "count"}, {"a", "1"}, {"µs", "1,000"}, {"c", "3"}}, 2);
    CHECK(as_text(report) ==
          Lines{"NAME  count", "  a       1", "  µs  1,000", "  … and 1 more: --json has them all"});
}

TEST_CASE("lines are wrapped at words, and a long word is cut", "[printed]") {
    Report report;
    report.paragraph("HEAD " + std::string(60, 'a') + " " + std::string(60, 'b'), 5);
    report.line("HEAD       " + std::string(60, 'a') + " " + std::string(60, 'b'));
    report.line("  " + std::string(60, 'a') + " " + std::string(60, 'b'));
    report.line(std::string(130, 'c'));
    CHECK(as_text(report) == Lines{"HEAD " + std::string(60, 'a'), "     " + std::string(60, 'b'),
                                   "HEAD       " + std::string(60, 'a'),
                                   std::string(11, ' ') + std::string(60, 'b'), "  " + std::string(60, 'a'),
                                   "    " + std::string(60, 'b'), std::string(110, 'c'),
                                   std::string(11, ' ') + std::string(20, 'c')});
}

TEST_CASE("in a table that is too wide names give way, figures do not", "[printed]") {
    Report report;
    const std::string name(44, 'n'), figure(20, '7');
    report.table("llrr", {{"NAME", "OF", "a", "b"}, {name, name, figure, figure}}, 9);
    for (const std::string& line : as_text(report)) CHECK(width_of(line) <= 2 + 38 + 38 + 20 + 20 + 6);
    CHECK(as_text(report).at(1).ends_with(figure + "  " + figure));
    CHECK(
        as_text(report).at(1).starts_with("  " + std::string(37, 'n') + "…  " + std::string(37, 'n') + "…"));
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
    CHECK(lines.size() == 6);  // 400 letters, then the table
    CHECK(lines.back() == "  " + std::string(43, 'y') + "…");
}

}  // namespace as_text_test
