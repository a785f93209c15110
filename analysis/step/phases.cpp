#include "phases.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "keys.h"

namespace gpushim::analysis {

namespace {

constexpr double kByName = 0.9;      // an optimizer's or a backward's operations are named so
constexpr double kByKind = 0.8;      // a copy, a collective: what it is is known, what it is for is not
constexpr double kByPosition = 0.5;  // some of the backward lies before its first collective

// Earlier than this share of the computing, a collective does not exchange gradients.
constexpr double kForwardAtLeast = 0.2;

bool computes(TokenKind kind) { return kind == TokenKind::kernel || kind == TokenKind::graph; }

struct Landmarks {
    std::optional<int64_t> copy_ns, compute_ns;
    std::optional<int64_t> collective_ns, after_collectives_ns;  // the first; the operation after the last
    std::optional<int64_t> sum_ns, after_sums_ns;                // of those that may add up
    std::optional<int64_t> optimizer_ns, after_optimizer_ns;
    std::optional<int64_t> compute_after_optimizer_ns;
    int64_t bytes_before_compute = 0, bytes = 0;  // copied to the device, as far as it is known
    // When the host had submitted the last of them.
    int64_t until_ns = INT64_MIN, collective_until_ns = INT64_MIN, optimizer_until_ns = INT64_MIN;
};

void note_until(Landmarks& found, const Token& token) {
    found.until_ns = std::max(found.until_ns, token.until_ns);
    if (token.is_optimizer) found.optimizer_until_ns = std::max(found.optimizer_until_ns, token.until_ns);
    if (token.kind == TokenKind::collective)
        found.collective_until_ns = std::max(found.collective_until_ns, token.until_ns);
}

void note(std::optional<int64_t>& first, std::optional<int64_t>& after, bool is_such, int64_t at_ns) {
    if (is_such) {
        if (!first) first = at_ns;
        after.reset();
    } else if (first && !after) {
        after = at_ns;
    }
}

void note_bytes(Landmarks& found, int64_t bytes) {
    found.bytes += bytes;
    if (!found.compute_ns) found.bytes_before_compute += bytes;
}

// Behind the optimizer's last kernel.
void note_forward(Landmarks& found, const Token& token) {
    if (token.is_optimizer)
        found.compute_after_optimizer_ns.reset();
    else if (found.after_optimizer_ns && !found.compute_after_optimizer_ns && computes(token.kind))
        found.compute_after_optimizer_ns = token.at_ns;
}

Landmarks landmarks_of(Interval step, std::span<const Token> tokens) {
    Landmarks found;
    for (const Token& token : tokens) {
        if (token.at_ns < step.start_ns || token.at_ns >= step.end_ns || token.kind == TokenKind::sync)
            continue;
        const bool is_copy = token.kind == TokenKind::copy_h2d;
        if (is_copy && !found.copy_ns) found.copy_ns = token.at_ns;
        if (!is_copy && !found.compute_ns) found.compute_ns = token.at_ns;
        if (is_copy) note_bytes(found, std::max<int64_t>(token.bytes, 0));
        note(found.collective_ns, found.after_collectives_ns, token.kind == TokenKind::collective,
             token.at_ns);
        note(found.sum_ns, found.after_sums_ns,
             token.kind == TokenKind::collective && !token.purpose.only_moves, token.at_ns);
        note(found.optimizer_ns, found.after_optimizer_ns, token.is_optimizer, token.at_ns);
        note_until(found, token);
        note_forward(found, token);
    }
    return found;
}

std::vector<Phase> from_ranges(Interval step, std::span<const PhaseRange> ranges) {
    std::vector<Phase> phases;
    for (const PhaseRange& range : ranges)
        for (const Interval& span : clip({range.span}, step)) phases.push_back({range.kind, span, 1.0});
    return phases;
}

std::optional<Phase> input_of(Interval step, const Landmarks& at) {
    // A copy behind the first kernel feeds a later step.
    if (!at.copy_ns || !at.compute_ns || *at.copy_ns > *at.compute_ns) return {};
    if (2 * at.bytes_before_compute < at.bytes) return {};
    return Phase{PhaseKind::input, {step.start_ns, *at.compute_ns}, kByKind};
}

// A phase is over when the host has submitted its last operation: behind it the host loads the next batch,
// reads a loss, sleeps. `after_ns`: of the operation behind it.
int64_t end_of(Interval step, std::optional<int64_t> after_ns, int64_t until_ns) {
    return std::min(after_ns.value_or(step.end_ns), until_ns);
}

std::optional<Phase> communication_of(Interval step, const Landmarks& at) {
    if (!at.collective_ns) return {};
    return Phase{PhaseKind::communication,
                 {*at.collective_ns, end_of(step, at.after_collectives_ns, at.collective_until_ns)},
                 kByKind};
}

bool exchanges_gradients(Interval step, const Landmarks& at) {
    if (!at.sum_ns || !at.compute_ns) return false;
    const auto length = static_cast<double>(at.optimizer_ns.value_or(step.end_ns) - *at.compute_ns);
    return static_cast<double>(*at.sum_ns - *at.compute_ns) >= kForwardAtLeast * length;
}

std::optional<Phase> optimizer_of(Interval step, const Landmarks& at) {
    if (at.optimizer_ns)
        return Phase{PhaseKind::optimizer,
                     {*at.optimizer_ns, end_of(step, at.after_optimizer_ns, at.optimizer_until_ns)},
                     kByName};
    // Without a name: what follows the last exchange of gradients applies them.
    if (!exchanges_gradients(step, at) || !at.after_sums_ns) return {};
    return Phase{PhaseKind::optimizer, {*at.after_sums_ns, end_of(step, {}, at.until_ns)}, kByPosition};
}

// A step may update several models, one after the other, in the thread of their gradients: then so much is
// computed between two updates that it is no part of either. Where there is little between, it may be an
// update's own work, such as norms, or one layer's gradients.
std::vector<Phase> updates_of(Interval step, const Phase& whole, std::span<const Token> tokens) {
    constexpr int64_t kMany = 10, kTimes = 4;  // operations, and as many times as of the update before
    std::vector<Phase> updates;
    int64_t own = 0, others = 0, until_ns = INT64_MIN;
    Interval span = whole.span;
    std::optional<int64_t> after_ns;
    for (const Token& token : tokens) {
        if (token.at_ns < span.start_ns || token.at_ns >= step.end_ns) continue;
        if (!token.is_optimizer) {
            if (!after_ns && token.kind != TokenKind::sync) after_ns = token.at_ns;
            others += computes(token.kind) ? token.operations : 0;
            continue;
        }
        if (others >= kMany && others >= kTimes * own) {
            updates.push_back(
                {whole.kind, {span.start_ns, end_of(step, after_ns, until_ns)}, whole.confidence});
            span.start_ns = token.at_ns;
            own = 0;
        }
        own += token.operations;
        others = 0;
        after_ns.reset();
        until_ns = token.until_ns;
    }
    updates.push_back({whole.kind, span, whole.confidence});
    return updates;
}

// Of the next step, in a step that begins in the middle of one.
std::optional<Phase> next_forward_of(Interval step, const Landmarks& at, double confidence) {
    if (!at.compute_after_optimizer_ns) return {};
    return Phase{PhaseKind::forward, {*at.compute_after_optimizer_ns, step.end_ns}, confidence};
}

std::vector<Phase> by_position(Interval step, const Landmarks& at, std::span<const Token> tokens,
                               std::optional<int64_t> backward_ns, StepBegins begins) {
    std::vector<Phase> phases;
    const auto add = [&](std::optional<Phase> phase) {
        if (phase && phase->span.length_ns() > 0) phases.push_back(*phase);
    };
    add(input_of(step, at));
    // Only by a name is it known that what comes first is backward.
    const bool is_shifted = begins == StepBegins::anywhere && phases.empty() && backward_ns;
    const double confidence = backward_ns ? kByName : kByPosition;
    if (!backward_ns && exchanges_gradients(step, at)) backward_ns = at.sum_ns;
    const std::optional<Phase> optimizer = optimizer_of(step, at);
    // The update of the step before.
    const bool updates_first = backward_ns && optimizer && optimizer->span.start_ns < *backward_ns &&
                               at.compute_after_optimizer_ns && *at.compute_after_optimizer_ns < *backward_ns;
    if (backward_ns && at.compute_ns) {
        const int64_t forward_ns = updates_first ? *at.compute_after_optimizer_ns : *at.compute_ns;
        add(Phase{PhaseKind::forward, {forward_ns, *backward_ns}, confidence});
        const int64_t end_ns = optimizer && !updates_first ? optimizer->span.start_ns : step.end_ns;
        add(Phase{PhaseKind::backward, {*backward_ns, end_ns}, confidence});
        if (is_shifted && !updates_first) add(next_forward_of(step, at, confidence));
    }
    add(communication_of(step, at));
    if (optimizer && at.optimizer_ns)
        for (const Phase& update : updates_of(step, *optimizer, tokens)) add(update);
    else
        add(optimizer);
    return phases;
}

std::optional<int64_t> thread_of_optimizer(Interval step, std::span<const Token> tokens) {
    for (const Token& token : tokens)
        if (token.is_optimizer && token.at_ns >= step.start_ns && token.at_ns < step.end_ns)
            return token.thread;
    return {};
}

bool is_of(Interval step, const Token& token) {
    return token.at_ns >= step.start_ns && token.at_ns < step.end_ns && token.kind != TokenKind::sync;
}

bool is_one_thread(Interval step, std::span<const Token> tokens) {
    std::optional<int64_t> thread;
    for (const Token& token : tokens) {
        if (!is_of(step, token) || !(token.is_optimizer || token.purpose.trains)) continue;
        if (thread.value_or(token.thread) != token.thread) return false;
        thread = token.thread;
    }
    return thread.has_value();
}

// What computes last before the step's first gradients.
std::optional<int64_t> end_of_forward(Interval step, std::span<const Token> tokens) {
    std::optional<int64_t> last;
    for (const Token& token : tokens) {
        if (!is_of(step, token)) continue;
        if (token.purpose.trains) break;
        if (computes(token.kind) && !token.is_optimizer) last = name_of(token);
    }
    return last;
}

// In one thread an update may be one layer's, and gradients go on behind it. It was a batch's, and so were
// gradients behind which a batch is copied, where a forward follows: what ran last before the first gradients
// runs again before the next ones.
std::vector<Interval> rounds_in_one_thread(Interval step, std::span<const Token> tokens) {
    std::vector<Interval> rounds;
    const std::optional<int64_t> forward = end_of_forward(step, tokens);
    bool has_gradients = false, has_updated = false;
    constexpr int64_t kNone = INT64_MIN;
    int64_t begin_ns = step.start_ns, next_ns = kNone;
    for (const Token& token : tokens) {
        if (!is_of(step, token)) continue;
        if (token.is_optimizer || token.purpose.trains) {
            has_updated = token.is_optimizer && has_gradients;
            has_gradients |= token.purpose.trains;
            next_ns = kNone;
            continue;
        }
        const bool may_begin = has_updated || (has_gradients && token.kind == TokenKind::copy_h2d);
        if (may_begin && next_ns == kNone) next_ns = token.at_ns;
        if (next_ns == kNone || !computes(token.kind) || name_of(token) != forward) continue;
        rounds.push_back({begin_ns, next_ns});
        begin_ns = next_ns;
        has_gradients = has_updated = false;
    }
    rounds.push_back({begin_ns, step.end_ns});
    return rounds;
}

// A step may have several batches, or train several models, one after the other: where the thread that
// updates goes on behind gradients of another thread, a round begins, with a forward and gradients of its
// own. What it does before an update is the update's, such as cutting gradients off. An update in the thread
// of the gradients may be one layer's (tally.cpp), and begins none.
std::vector<Interval> rounds_of(Interval step, std::span<const Token> tokens) {
    if (is_one_thread(step, tokens)) return rounds_in_one_thread(step, tokens);
    std::vector<Interval> rounds;
    const std::optional<int64_t> own_thread = thread_of_optimizer(step, tokens);
    std::optional<int64_t> gradients_thread;
    constexpr int64_t kNone = INT64_MIN;
    int64_t begin_ns = step.start_ns, next_ns = kNone;
    for (const Token& token : tokens) {
        if (token.at_ns < step.start_ns || token.at_ns >= step.end_ns || token.kind == TokenKind::sync)
            continue;
        if (token.is_optimizer) {
            next_ns = kNone;
        } else if (!token.purpose.trains) {
            const bool goes_on =
                gradients_thread && token.thread == own_thread && token.thread != *gradients_thread;
            if (goes_on && next_ns == kNone) next_ns = token.at_ns;
        } else {
            if (next_ns != kNone && token.thread == gradients_thread) {
                rounds.push_back({begin_ns, next_ns});
                begin_ns = next_ns;
            }
            gradients_thread = token.thread;
            next_ns = kNone;
        }
    }
    rounds.push_back({begin_ns, step.end_ns});
    return rounds;
}

std::optional<int64_t> backward_of(Interval round, std::span<const Token> tokens) {
    for (const Token& token : tokens)
        if (token.purpose.trains && token.at_ns >= round.start_ns && token.at_ns < round.end_ns)
            return token.at_ns;
    return {};
}

// Tokens come by time. A step that is an epoch has thousands of rounds.
std::span<const Token> tokens_of(Interval round, std::span<const Token> tokens) {
    const auto from = [&](int64_t at_ns) {
        return std::lower_bound(tokens.begin(), tokens.end(), at_ns,
                                [](const Token& token, int64_t ns) { return token.at_ns < ns; });
    };
    return {from(round.start_ns), from(round.end_ns)};
}

// Ranges may name some phases only, as a profiler's own do (a loader, an optimizer): what tokens tell of the
// others is the rest of the step. Communication lies over all of them, and a batch that was loaded in a range
// is copied behind it.
class Named {
  public:
    Named(std::span<const Phase> ranges, std::span<const Token> tokens) : tokens_(tokens) {
        for (const Phase& range : ranges) {
            kinds_[static_cast<size_t>(range.kind)] = true;
            if (range.kind != PhaseKind::communication) spans_.push_back(range.span);
            if (range.kind == PhaseKind::optimizer) updates_ns_.push_back(range.span.start_ns);
        }
        spans_ = unite(std::move(spans_));
        std::sort(updates_ns_.begin(), updates_ns_.end());
    }
    std::vector<Phase> rest_of(Phase phase) const {
        if (kinds_[static_cast<size_t>(phase.kind)] && phase.kind != PhaseKind::input) return {};
        if (phase.kind == PhaseKind::communication) return {phase};
        if (phase.kind == PhaseKind::backward) end_at_update(phase.span);
        const auto first = std::partition_point(spans_.begin(), spans_.end(), [&](const Interval& span) {
            return span.end_ns <= phase.span.start_ns;
        });
        const auto last = std::partition_point(
            first, spans_.end(), [&](const Interval& span) { return span.start_ns < phase.span.end_ns; });
        if (first == last) return {phase};
        std::vector<Phase> rest;
        for (const Interval& span : subtract({phase.span}, Intervals(first, last)))
            if (has_any(phase.kind, span)) rest.push_back({phase.kind, span, phase.confidence});
        return rest;
    }

  private:
    void end_at_update(Interval& span) const {
        const auto next = std::lower_bound(updates_ns_.begin(), updates_ns_.end(), span.start_ns);
        if (next != updates_ns_.end()) span.end_ns = std::min(span.end_ns, *next);
    }
    // Of a stretch of alike tokens only the first has its time: it may reach into the span.
    bool has_any(PhaseKind kind, Interval span) const {
        const auto is_of = [&](const Token& token) {
            return kind == PhaseKind::input ? token.kind == TokenKind::copy_h2d : computes(token.kind);
        };
        const std::span<const Token> in_it = tokens_of(span, tokens_);
        if (std::any_of(in_it.begin(), in_it.end(), is_of)) return true;
        const auto before = in_it.begin() != tokens_.begin() ? std::prev(in_it.begin()) : tokens_.end();
        return before != tokens_.end() && is_of(*before) && before->until_ns != INT64_MAX &&
               before->until_ns > span.start_ns;
    }

    std::span<const Token> tokens_;
    std::array<bool, kPhaseKinds> kinds_{};
    Intervals spans_;
    std::vector<int64_t> updates_ns_;
};

std::vector<Phase> of_rounds(Interval step, std::span<const Token> tokens, std::optional<int64_t> backward_ns,
                             StepBegins begins) {
    std::vector<Phase> phases;
    for (const Interval& round : rounds_of(step, tokens)) {
        const std::span<const Token> own = tokens_of(round, tokens);
        const bool is_first = round.start_ns == step.start_ns;
        for (const Phase& phase : by_position(round, landmarks_of(round, own), own,
                                              is_first ? backward_ns : backward_of(round, own), begins))
            phases.push_back(phase);
    }
    return phases;
}

}  // namespace

std::string_view in_words(PhaseKind kind) {
    constexpr std::string_view kWords[] = {"input", "forward", "backward", "communication", "optimizer"};
    return kWords[static_cast<size_t>(kind)];
}

std::vector<Phase> phases_of(Interval step, std::span<const Token> tokens, std::span<const PhaseRange> ranges,
                             std::optional<int64_t> backward_ns, StepBegins begins) {
    std::vector<Phase> phases = from_ranges(step, ranges);
    const Named named(phases, tokens);
    for (const Phase& phase : of_rounds(step, tokens, backward_ns, begins))
        for (const Phase& rest : named.rest_of(phase)) phases.push_back(rest);
    const auto key = [](const Phase& phase) { return std::pair(phase.span.start_ns, phase.kind); };
    std::stable_sort(phases.begin(), phases.end(),
                     [&](const Phase& a, const Phase& b) { return key(a) < key(b); });
    const auto same = [&](const Phase& a, const Phase& b) { return key(a) == key(b); };
    phases.erase(std::unique(phases.begin(), phases.end(), same), phases.end());
    return phases;
}

}  // namespace gpushim::analysis
