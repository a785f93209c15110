// Texts out of a trace come from strangers: one function for each place they are shown at.
#pragma once

#include <string>
#include <string_view>

#include "width.h"

namespace gpushim::analysis {

std::string for_terminal(std::string_view text);  // control characters and what is not UTF-8 as \xNN
// Quoted where needed; what a spreadsheet would run gets a '. Otherwise as for a terminal, but for line feeds
// and tabs.
std::string for_csv(std::string_view text);
std::string for_json(std::string_view text);  // with its quotes
// Between tags, and within quotes as the value of an attribute. Control characters as for a terminal.
std::string for_html(std::string_view text);
// Between tags and in a quoted attribute; line feeds and tabs stay, what XML forbids is shown as \xNN.
std::string for_xml(std::string_view text);
std::string hex(std::string_view bytes);

}  // namespace gpushim::analysis
