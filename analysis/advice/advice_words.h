// What to try, in words that fit the program: the table advice.def. Pure; any thread.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "ecosystem.h"

namespace gpushim::analysis {

struct AdviceRow {
    std::string_view key;
    Who who;
    std::string_view text;
};
std::span<const AdviceRow> advice_rows();

// With HIP's names in place of CUDA's where the GPUs are AMD's: of graphs, of calls of the runtime, which
// differ in their first letters only, and of PyTorch's variables. Its other names say cuda for either.
std::string in_words_of(const Ecosystem& program, std::string text);

// Of each of these keys in turn the rows that fit, as one text. Of a key there is at least one row.
std::string advice_for(const Ecosystem& program, std::initializer_list<std::string_view> keys);

}  // namespace gpushim::analysis
