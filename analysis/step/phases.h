// The phases of one step: from ranges where the program names them, the others by position around its
// collectives and optimizer kernels. A phase is when the host submitted its operations; what device time that
// is, others join.
//
//   tokens   h h f f f f b b c b b c o o          h input, c collective, o optimizer
//   phases   |i |f          |b      |opt          and communication from the first c to behind the last
//
// Input, forward, backward, optimizer follow each other, communication lies over them. Where backward begins
// no token says but a collective or a kernel's name: without one there is neither forward nor backward. A
// collective that adds nothing up (an exchange, a gather) says nothing, nor do those that run from early in
// the step on (weights or layers split over GPUs). Input carries at least half of the bytes that go to the
// device. A phase is over when the host has submitted the last of its operations: a wait for the next batch
// is none of the optimizer's. Where a step has several batches, or trains several models, one after the
// other, each has its phases. A step that was found, not marked, may begin anywhere: without input in front
// what computes behind the optimizer is the next step's forward. What tokens tell of phases that ranges do
// not name lies beside those. Pure.
//
//   found    b b c b b c o o f f f f
//   phases   |b          |opt|f      |
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/interval/interval.h"
#include "token.h"

namespace gpushim::analysis {

enum class PhaseKind : uint8_t { input, forward, backward, communication, optimizer };
constexpr size_t kPhaseKinds = static_cast<size_t>(PhaseKind::optimizer) + 1;
std::string_view in_words(PhaseKind kind);

struct PhaseRange {
    Interval span;
    PhaseKind kind;
};

struct Phase {
    PhaseKind kind;
    Interval span;
    double confidence;  // 0 to 1; 1 from ranges

    friend bool operator==(const Phase&, const Phase&) = default;
};

enum class StepBegins : uint8_t { where_marked, anywhere };

// Tokens and ranges by time; those outside the step are passed over. `backward_ns`: when the first operation
// named as backward was submitted, where one is. Phases by their start; none where nothing tells.
std::vector<Phase> phases_of(Interval step, std::span<const Token> tokens, std::span<const PhaseRange> ranges,
                             std::optional<int64_t> backward_ns = {},
                             StepBegins begins = StepBegins::where_marked);

}  // namespace gpushim::analysis
