// The colours that the text has on a terminal, one table of them. No word relies on its colour alone. A text
// is laid out before it is styled, so no width counts an escape sequence. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace gpushim::analysis {

enum class Style : unsigned char { plain, heading, finding, warning, trouble };

std::string styled(Style style, std::string_view text);

// A line of a report as it is printed, with its first words styled by what they are.
std::string styled_line(std::string_view line);

}  // namespace gpushim::analysis
