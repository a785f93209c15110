// How many columns a terminal gives to a text: none to marks that stand on the letter before them, two to
// the wide letters of East Asia and to emoji. Of text that is safe already.
#pragma once

#include <string>
#include <string_view>

namespace gpushim::analysis {

size_t width_of(std::string_view text);
size_t bytes_within(std::string_view text, size_t columns);  // of as many of its letters as fit
std::string shortened(std::string text, size_t most);  // to at most so many columns, with … at the end
std::string cut_in_the_middle(const std::string& text, size_t most);  // both ends stay
std::string padded(std::string text, size_t columns);  // with spaces behind it, to so many columns

}  // namespace gpushim::analysis
