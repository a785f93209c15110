#include "generation.h"

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

bool are_at(std::string_view name, size_t at, std::string_view words) {
    if (at > 0 && !ends_word(name[at - 1])) return false;
    if (!name.substr(at).starts_with(words)) return false;
    return at + words.size() == name.size() || ends_word(name[at + words.size()]);
}

}  // namespace

TensorCores tensor_cores_of(std::string_view gpu_name) {
    for (const Generation& row : kGenerations)
        for (size_t at = 0; at < gpu_name.size(); ++at)
            if (are_at(gpu_name, at, row.words)) return row.has;
    return TensorCores::not_known;
}

}  // namespace gpushim::analysis
