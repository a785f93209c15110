#include "range_words.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace gpushim::analysis {

namespace {

struct KnownWord {
    RangeWord says;
    std::string_view text;
};
constexpr KnownWord kKnownWords[] = {
#define RANGE(says, word) {RangeWord::says, word},
#include "range_words.def"
#undef RANGE
};
constexpr std::string_view kNoRange[] = {
#define NO_RANGE(word) word,
#include "range_words.def"
#undef NO_RANGE
};

std::string in_lower_case(std::string_view text) {
    std::string lower(text);
    for (char& c : lower)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return lower;
}

bool is_lower_letter(char c) { return c >= 'a' && c <= 'z'; }

}  // namespace

RangeWords words_of_range(std::string_view name) {
    const std::string lower = in_lower_case(name);
    RangeWords words;
    for (auto from = lower.begin(); from != lower.end();) {
        from = std::find_if(from, lower.end(), is_lower_letter);
        const auto until = std::find_if_not(from, lower.end(), is_lower_letter);
        const std::string_view word(lower.data() + (from - lower.begin()), static_cast<size_t>(until - from));
        if (std::find(std::begin(kNoRange), std::end(kNoRange), word) != std::end(kNoRange)) return {};
        for (const KnownWord& known : kKnownWords)
            if (known.text == word) words.add(known.says);
        from = until;
    }
    return words;
}

PythonDoes told_by_range(std::string_view name) {
    if (name.find("::") != std::string_view::npos) return PythonDoes::untold;
    const RangeWords words = words_of_range(name);
    if (words.has(RangeWord::input)) return PythonDoes::loads;
    if (words.has(RangeWord::callback)) return PythonDoes::calls_back;
    if (words.has(RangeWord::optimizer)) return PythonDoes::optimizes;
    return PythonDoes::untold;
}

}  // namespace gpushim::analysis
