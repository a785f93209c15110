// What a rank costs a step, by a replay, and how far that may be off. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace gpushim::analysis {

struct SavedPerStep {
    int64_t saved_ns;
    std::optional<int64_t> least_ns;  // none: how far hosts would let the others come is not known
    int64_t most_ns;

    bool is_one_figure() const;  // to 5 %
    std::string text() const;    // "1.20 ms", "1.10 to 1.31 ms", "up to 1.31 ms"
};
// `by_step`: saved in each step if the rank were like the others, at least one. `at_most_ns`: of a step,
// without the rank at all. The range has what replays are made of, and the chance that steps vary by.
SavedPerStep saved_per_step(std::span<const int64_t> by_step, int64_t at_most_ns, int64_t step_ns);

}  // namespace gpushim::analysis
