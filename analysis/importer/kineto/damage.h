// Where to go on behind an element of a list that is no JSON: where its brackets close, or where the next
// element clearly begins although the strings seem not to be at an end (a quote is missing or too many),
// whichever comes first. Pure.
#pragma once

#include <optional>
#include <string_view>

namespace gpushim::analysis {

// `text` begins with the element. None: more text is needed.
std::optional<size_t> end_of_damage(std::string_view text);
// Only by how elements begin, for text in whose middle we are: a comma, an open brace, a quote.
std::optional<size_t> next_element(std::string_view text, size_t from, size_t to);

}  // namespace gpushim::analysis
