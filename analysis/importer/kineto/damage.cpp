#include "damage.h"

#include <algorithm>

#include "json_scanner.h"

namespace gpushim::analysis {

namespace {

// Both searches go on in turns, so that one that runs far costs nothing where the other one ends soon.
constexpr size_t kTurn = 4096;
constexpr std::string_view kBlanks = " \t\r\n";

bool begins_element(std::string_view text, size_t brace) {
    const size_t before = brace > 0 ? text.find_last_not_of(kBlanks, brace - 1) : std::string_view::npos;
    const size_t behind = text.find_first_not_of(kBlanks, brace + 1);
    return before != std::string_view::npos && text[before] == ',' && behind != std::string_view::npos &&
           text[behind] == '"';
}

}  // namespace

std::optional<size_t> next_element(std::string_view text, size_t from, size_t to) {
    const std::string_view looked_at = text.substr(0, to);
    for (size_t brace = looked_at.find('{', from); brace < to; brace = looked_at.find('{', brace + 1))
        if (begins_element(text, brace)) return brace;
    return {};
}

std::optional<size_t> end_of_damage(std::string_view text) {
    JsonSkipper brackets;
    for (size_t at = 0; at < text.size(); at += kTurn) {
        const size_t end = at + brackets.feed(text.substr(at, kTurn));
        if (const auto next = next_element(text, at, end)) return next;
        if (brackets.done()) return end;
    }
    return {};
}

}  // namespace gpushim::analysis
