#include "phase_words.h"

#include <utility>

#include "../../trace/range_words.h"

namespace gpushim::analysis {

namespace {

constexpr std::pair<RangeWord, PhaseKind> kPhasesOfWords[] = {
    {RangeWord::forward, PhaseKind::forward},
    {RangeWord::backward, PhaseKind::backward},
    {RangeWord::optimizer, PhaseKind::optimizer},
    {RangeWord::input, PhaseKind::input},
    {RangeWord::communication, PhaseKind::communication},
};

}  // namespace

std::optional<PhaseKind> phase_named(std::string_view range) {
    const RangeWords words = words_of_range(range);
    std::optional<PhaseKind> kind;
    for (const auto& [word, phase] : kPhasesOfWords) {
        if (!words.has(word)) continue;
        if (kind) return {};
        kind = phase;
    }
    return kind;
}

}  // namespace gpushim::analysis
