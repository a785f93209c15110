// The steps of a run: from marks where it has them, else found in what it repeats. Pure: a source of tokens
// and marks in, steps out; only the steps are kept. A beginning is read twice, or up to fourteen times where
// steps are looked for behind a start-up, and the source once for each beginning that told some, and for
// marks. One thread.
//
//   tokens   h k k k o   h k k k o   h k k k o      h: copy to the device, o: optimizer
//   steps    |1─────────|2─────────|3──────────|     each from its anchor to the next one
//
// Authority: gpushim_step, then ranges (NVTX, ProfilerStep), then profiler ranges, then detection. Where
// marks and detection differ by more than one step, that is said, and the marks hold.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/interval/interval.h"
#include "token.h"

namespace gpushim::analysis {

struct ExplicitStep {
    int64_t begin_ns;
    std::optional<int64_t> samples;
};

struct MarkedRange {
    Interval span;
    int64_t number;
};

struct Marks {
    std::vector<ExplicitStep> explicit_steps;  // gpushim_step: each begins a step and ends the one before
    std::vector<MarkedRange> ranges;
    std::vector<Interval> profiler;  // from start to stop. One alone says which steps count; more are steps.
    std::vector<Interval> rests;     // nothing was recorded: steps of which they take a part do not count
};

struct Step {
    int64_t begin_ns;
    int64_t end_ns;
    int64_t number;
    uint64_t signature;  // the same: the same operations as often, in any order; grids may differ
    std::optional<int64_t> samples;
    bool is_warm_up = false;
    bool is_left_out = false;  // not to be counted; `why_left_out` says why
    std::string_view why_left_out = {};
    bool has_load = false;  // a module was loaded or code compiled

    int64_t length_ns() const { return end_ns - begin_ns; }
};

// Why steps are left out of which something was not recorded; SQL asks for it by these words, too.
inline constexpr std::string_view kResting = "not recorded, or not all of it";
inline constexpr std::string_view kNoEnd = "nothing says where the last step ends";  // why it is left out
bool has_no_end(const Step& step);  // it is left out, for nothing says where it ends
// A stretch between two steps: it repeats as they do, but is none. SQL asks for it by these words, too.
inline constexpr std::string_view kTrainsNothing = "it updates no parameters: an evaluation, or the like";
bool trains_nothing(const Step& step);

// Why a stretch is a step, where what lies in it repeats, too: the first words of `Steps::why`.
inline constexpr std::string_view kByReads =
    "a step is what lies between two values that the host reads and waits for";

struct Steps {
    std::vector<Step> steps;      // by begin
    std::string anchor;           // in words
    int64_t anchor_hash = 0;      // of the token that begins a step, for its name; detected steps only
    double confidence = 0;        // 0 to 1; 1 for marks
    std::string source = "none";  // gpushim_step, ranges, profiler, detected, none
    std::string why;              // what was missing, or is to be known; may be empty
    int micro_steps = 1;          // anchors in one step
    std::optional<int64_t> detected_count;  // beside marks, where detection found steps, between their ends
    bool disagrees_with_marks = false;
};

// Those that do not count: outside of the one range that a profiler was on, not recorded, warm-up.
void leave_out(Steps& found, const Marks& marks);

struct Beginning {
    TokenSource tokens;
    int64_t most;  // so many
};

// Without tokens marks alone make the steps, and their signatures are 0. What repeats is looked for in the
// first of `beginnings`, and in the next only if that does not tell, or if what it tells is not what nearly
// all of the run is.
Steps find_steps(const TokenSource& source, std::span<const Beginning> beginnings, const Marks& marks);
inline Steps find_steps(const TokenSource& source, const Marks& marks) {
    const Beginning whole = {source, INT64_MAX};
    return find_steps(source, {&whole, 1}, marks);
}

}  // namespace gpushim::analysis
