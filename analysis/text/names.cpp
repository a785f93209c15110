#include "names.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace gpushim::analysis {

namespace {

constexpr size_t kLongest = 64;   // of a word that is compared; nothing of ours is longer
constexpr size_t kMostMeant = 3;  // that are asked about

bool same(char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

// Letters left out, added, changed or swapped with the next that make one of the other.
size_t slips(std::string_view a, std::string_view b) {
    std::vector<std::vector<size_t>> between(a.size() + 1, std::vector<size_t>(b.size() + 1));
    for (size_t i = 0; i <= a.size(); ++i)
        for (size_t j = 0; j <= b.size(); ++j) {
            size_t& least = between[i][j];
            if (i == 0 || j == 0) {
                least = i + j;
                continue;
            }
            least = std::min({between[i - 1][j] + 1, between[i][j - 1] + 1,
                              between[i - 1][j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1)});
            const bool swapped = i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]);
            if (swapped) least = std::min(least, between[i - 2][j - 2] + 1);
        }
    return between[a.size()][b.size()];
}

bool is_part_of(std::string_view part, std::string_view whole) {
    constexpr size_t kLeast = 3;
    return part.size() >= kLeast &&
           std::search(whole.begin(), whole.end(), part.begin(), part.end(), same) != whole.end();
}

// A name that holds the word, or is held by it, is as near as one slip: people leave "v_" out.
size_t distance(std::string_view word, std::string_view name) {
    word = word.substr(0, kLongest);
    name = name.substr(0, kLongest);
    const size_t apart = slips(word, name);
    return apart > 1 && (is_part_of(word, name) || is_part_of(name, word)) ? 1 : apart;
}

}  // namespace

std::string listed(std::span<const std::string> names, size_t most) {
    std::string text;
    for (size_t i = 0; i < names.size() && i < most; ++i) text += (i == 0 ? "" : ", ") + names[i];
    if (names.size() > most) text += " … and " + std::to_string(names.size() - most) + " more";
    return text;
}

std::vector<std::string> most_alike_first(std::string_view word, std::vector<std::string> names) {
    std::vector<std::pair<size_t, std::string>> order;
    for (std::string& name : names) order.emplace_back(distance(word, name), std::move(name));
    std::stable_sort(order.begin(), order.end(), [](auto& a, auto& b) { return a.first < b.first; });
    for (size_t i = 0; i < names.size(); ++i) names[i] = std::move(order[i].second);
    return names;
}

std::string perhaps(std::string_view word, const std::vector<std::string>& names, std::string_view before) {
    const size_t most = std::max<size_t>(1, std::min(word.size(), kLongest) / 3);
    std::string text;
    size_t asked = 0;
    for (const std::string& name : most_alike_first(word, names)) {
        if (asked == kMostMeant || distance(word, name) > most) break;
        text += (asked++ == 0 ? "; did you mean " : " or ") + std::string(before) + name;
    }
    return text.empty() ? text : text + "?";
}

}  // namespace gpushim::analysis
