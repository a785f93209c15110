#include "phase_words.h"

#include <algorithm>
#include <string>

namespace gpushim::analysis {

namespace {

struct Word {
    std::string_view text;
    PhaseKind kind;
};
constexpr Word kWords[] = {
    {"forward", PhaseKind::forward},
    {"fwd", PhaseKind::forward},
    {"backward", PhaseKind::backward},
    {"backwards", PhaseKind::backward},
    {"bwd", PhaseKind::backward},
    {"backprop", PhaseKind::backward},
    {"optimizer", PhaseKind::optimizer},
    {"optimiser", PhaseKind::optimizer},
    {"optim", PhaseKind::optimizer},
    {"dataloader", PhaseKind::input},
    {"dataloading", PhaseKind::input},
    {"dataload", PhaseKind::input},
    {"input", PhaseKind::input},
    {"allreduce", PhaseKind::communication},
    {"communication", PhaseKind::communication},
    {"comm", PhaseKind::communication},
};
// Clearing gradients is the optimizer's by name only.
constexpr std::string_view kNoPhase[] = {"zero", "profile", "init"};

std::string lower_of(std::string_view text) {
    std::string lower(text);
    for (char& c : lower)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return lower;
}

bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

}  // namespace

std::optional<PhaseKind> phase_named(std::string_view range) {
    const std::string lower = lower_of(range);
    std::optional<PhaseKind> kind;
    for (size_t at = 0; at < lower.size();) {
        if (!is_letter(lower[at])) {
            ++at;
            continue;
        }
        const size_t from = at;
        while (at < lower.size() && is_letter(lower[at])) ++at;
        const std::string_view word(lower.data() + from, at - from);
        if (std::find(std::begin(kNoPhase), std::end(kNoPhase), word) != std::end(kNoPhase)) return {};
        for (const Word& known : kWords) {
            if (known.text != word) continue;
            if (kind && *kind != known.kind) return {};
            kind = known.kind;
        }
    }
    return kind;
}

}  // namespace gpushim::analysis
