// Texts out of a trace come from strangers: one function for each place they are shown at.
#pragma once

#include <string>
#include <string_view>

namespace gpushim::analysis {

std::string for_terminal(std::string_view text);  // control characters and what is not UTF-8 as \xNN
std::string for_csv(std::string_view text);   // quoted where needed; what a spreadsheet would run gets a '
std::string for_json(std::string_view text);  // with its quotes
std::string hex(std::string_view bytes);

}  // namespace gpushim::analysis
