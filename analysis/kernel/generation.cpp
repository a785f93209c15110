#include "generation.h"

#include <algorithm>

namespace gpushim::analysis {

namespace {

struct Generation {
    TensorCores has;
    std::string_view words;
};
constexpr Generation kGenerations[] = {
#define GENERATION(has, words) {TensorCores::has, words},
#include "generation.def"
#undef GENERATION
};

// "Tesla V100-SXM2-16GB" has four words.
bool ends_word(char c) { return c == ' ' || c == '-'; }

// Behind the words, or npos. A number that # stands for ends where its digits do.
size_t behind(std::string_view name, size_t at, std::string_view words) {
    constexpr std::string_view kDigits = "0123456789";
    for (const char c : words) {
        const size_t begin = at;
        at = c == '#' ? std::min(name.find_first_not_of(kDigits, at), name.size())
                      : at + (at < name.size() && name[at] == c);
        if (at == begin) return std::string_view::npos;
    }
    return at;
}

bool are_at(std::string_view name, size_t at, std::string_view words) {
    if (at > 0 && !ends_word(name[at - 1])) return false;
    const size_t end = behind(name, at, words);
    return end == name.size() || (end < name.size() && ends_word(name[end]));
}

}  // namespace

TensorCores tensor_cores_of(std::string_view gpu_name) {
    for (const Generation& row : kGenerations)
        for (size_t at = 0; at < gpu_name.size(); ++at)
            if (are_at(gpu_name, at, row.words)) return row.has;
    return TensorCores::not_known;
}

}  // namespace gpushim::analysis
