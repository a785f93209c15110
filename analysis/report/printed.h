// A report as people read it: on a terminal, or where Markdown is. Whatever names are in it, they are text
// there: nothing acts on a terminal, and nothing is markup, a link or a mention.
#pragma once

#include <string>
#include <vector>

#include "section.h"

namespace gpushim::analysis {

constexpr size_t kReportWidth = 110;  // in characters
constexpr size_t kWidestName = 44;    // of a cell of a table, in characters
constexpr size_t kLongestText = 400;  // of a line before it is wrapped

std::string rest_of(const Table& table);  // "… and 3 more: …"; empty: it has all rows

std::vector<std::string> as_text(const Report& report);
// As it is printed on stdout: with colours where that is a terminal that has them.
std::vector<std::string> as_printed(const Report& report);
std::vector<std::string> as_markdown(const Report& report);

}  // namespace gpushim::analysis
