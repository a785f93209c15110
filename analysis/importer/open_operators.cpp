#include "open_operators.h"

namespace gpushim::analysis {

namespace {

size_t place_of(int64_t sequence, size_t places) { return static_cast<size_t>(sequence) & (places - 1); }

}  // namespace

void OpenOperators::open(int64_t thread, const ImportedRow& row) {
    std::vector<Open>& open = open_[thread];
    while (!open.empty() && open.back().end_ns <= row.enter_ns) open.pop_back();
    const auto is = static_cast<ImportedOperator>(row.direction);
    if (is == ImportedOperator::plain && row.number != kNotThere) remember(thread, row, open);
    open.push_back({row.enter_ns + row.call_ns, row.number, row.name, is});
}

// Operators in one that has a number have the same: the outermost is what the program called. One before it
// that needs no gradient was given the same number.
void OpenOperators::remember(int64_t thread, const ImportedRow& row, const std::vector<Open>& around) {
    const size_t place = place_of(row.number, kRemembered);
    std::unique_ptr<Block>& block = forward_[place / kBlock];
    if (!block) block = std::make_unique<Block>();
    Forward& known = (*block)[place % kBlock];
    const bool is_same = known.sequence == row.number;
    if (is_same && known.thread != thread) known.is_ambiguous = true;  // numbers are of a thread
    if (is_same && row.enter_ns < known.end_ns) return;
    const bool is_ambiguous = is_same && known.is_ambiguous;
    known = {row.number, thread, row.enter_ns + row.call_ns, row.name, kNone, is_ambiguous};
    for (const Open& outer : around)
        if (outer.is == ImportedOperator::module && outer.end_ns > row.enter_ns) known.module = outer.name;
}

const OpenOperators::Forward* OpenOperators::forward_of(int64_t sequence) const {
    if (sequence == kNotThere) return nullptr;
    const size_t place = place_of(sequence, kRemembered);
    const std::unique_ptr<Block>& block = forward_[place / kBlock];
    if (!block) return nullptr;
    const Forward& known = (*block)[place % kBlock];
    return known.sequence == sequence && !known.is_ambiguous ? &known : nullptr;
}

OpenOperators::Inside OpenOperators::at(int64_t thread, int64_t now_ns) {
    const auto found = open_.find(thread);
    if (found == open_.end()) return {};
    std::vector<Open>& open = found->second;
    while (!open.empty() && open.back().end_ns <= now_ns) open.pop_back();
    Inside inside;
    for (const Open& one : open) {  // from the outermost
        if (one.end_ns <= now_ns) continue;
        if (one.is == ImportedOperator::module) {
            inside.module = one.name;
            continue;
        }
        inside.name = one.name;
        if (one.is == ImportedOperator::backward) {
            inside.pass = backward;
            if (const Forward* of = forward_of(one.sequence)) {
                inside.forward = of->name;
                inside.module = of->module;
            }
        } else if (one.sequence != kNotThere && inside.pass == not_told) {
            inside.pass = forward;
        }
    }
    return inside;
}

}  // namespace gpushim::analysis
