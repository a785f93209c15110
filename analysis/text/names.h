// Names: which are none, and in messages which of those there are somebody may have meant, and lists that
// stay short.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpushim::analysis {

// Nothing that could be read as a name: it counts as no name.
inline bool is_blank(std::string_view name) {
    return name.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

constexpr size_t kMostNames = 5;  // of a list in a message

// "a, b, c, d, e … and 12 more"
std::string listed(std::span<const std::string> names, size_t most = kMostNames);

// All of them, those most like the word first; those as much like it stay in their order.
std::vector<std::string> most_alike_first(std::string_view word, std::vector<std::string> names);

// "; did you mean a or b?", of those so like the word that it may be a slip; empty: none is.
std::string perhaps(std::string_view word, const std::vector<std::string>& names,
                    std::string_view before = "");

}  // namespace gpushim::analysis
