// What the name of a range that the program made itself (NVTX, annotations) says of what its thread does in
// it: the words are in range_words.def. Pure; any thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "host_inside.h"

namespace gpushim::analysis {

enum class RangeWord : uint8_t { forward, backward, optimizer, input, communication, callback };

class RangeWords {
  public:
    constexpr RangeWords(std::initializer_list<RangeWord> words = {}) {
        for (const RangeWord word : words) add(word);
    }
    constexpr void add(RangeWord word) { bits_ |= 1U << static_cast<unsigned>(word); }
    constexpr bool has(RangeWord word) const { return (bits_ >> static_cast<unsigned>(word) & 1U) != 0; }
    friend constexpr bool operator==(RangeWords, RangeWords) = default;

  private:
    unsigned bits_ = 0;
};

// All that a name says; none where one of its words says that it is nothing of this.
RangeWords words_of_range(std::string_view name);

// What the thread does there while it is in no call. Names of operators (`aten::log`) are no words of the
// program's, and tell nothing.
PythonDoes told_by_range(std::string_view name);

}  // namespace gpushim::analysis
