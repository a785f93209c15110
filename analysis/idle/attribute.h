// Why a GPU was idle between two operations: each instant of the gap gets one cause, and together they are
// the gap, to the nanosecond.
//
//   GPU         ███████████a                              b████N████
//   thread                                ════N═══
//   asked               |─── host part ───| call ─|───|
//   charged                 |─── host part ───| call ─|───|
//
// Where N was launched too late to start at a, as here, the gap is asked about one latency earlier: the last
// of it nobody could have used. What is left behind the call is the queued part. Where N was launched in
// time, nothing is moved.
//
// README.md has the causes and their order. Pure; any thread, as long as nobody adds to the lines.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "cause.h"
#include "host_line.h"

namespace gpushim::analysis {

enum class WaitsFor : uint8_t { nothing, other_gpu, host_callback };  // unfinished when N was submitted

// The operation that ended a gap.
struct Next {
    int64_t thread;
    int64_t launch_enter_ns, launch_exit_ns;
    bool is_copy_h2d = false;
    WaitsFor waits_for = WaitsFor::nothing;
    bool same_process = true;
    bool launched_before = false;  // the recording began: when is not known, but it was in the queue
    bool is_later_node = false;    // of a graph of which another operation began before
    bool is_page = false;          // of managed memory, which moved because something touched it
    int64_t likely_ns = 0;         // its start, by the host's clock, is within this; 0: not known
};

struct Gap {
    int32_t gpu;
    int64_t from_ns, until_ns;
    std::optional<Next> next;  // none: nothing came in the window
    bool is_behind_page = false;

    int64_t length_ns() const { return until_ns - from_ns; }
};

struct DeviceFacts {
    int64_t latency_ns;             // from a launch call's enter to the start, queue empty: the median …
    int64_t latency_p95_ns;         // … and the 95th percentile
    int64_t kernel_gap_ns = 3'000;  // between operations back to back: the median
};

// The innermost of the program's own ranges that is open on a thread at a moment.
struct RangeHere {
    int32_t range = kNotSampled;           // the caller's number for its name; kNotSampled: none is open
    PythonDoes does = PythonDoes::untold;  // as its name tells, or that of a range around it
    int64_t until_ns = INT64_MAX;          // to there it stays the innermost
    bool is_over = false;                  // by the launch that was asked about: it, and …
    bool told_is_over = false;             // … the one whose name tells
};

struct IdleFacts {
    DeviceFacts device;
    int64_t clock_error_ns = 0;  // between the host's clock and the device's times
    // Is the call that a thread entered then a recurring input copy of the step? All copies of a batch are.
    std::function<bool(int64_t thread, int64_t enter_ns)> is_input_copy;
    // And whether it was over when that thread entered a launch. None: no ranges were recorded.
    std::function<RangeHere(int64_t thread, int64_t t_ns, int64_t launch_ns)> range_at = {};
};

struct Piece {
    Cause cause;
    int64_t from_ns, until_ns;
    int32_t blocked_on = kNotSampled;  // of host_blocked and input_wait, where samples say so

    friend bool operator==(const Piece&, const Piece&) = default;
};

// A part of the gap in which the thread was seen in that line of Python. Lies within pieces of that cause.
struct PythonPart {
    Cause cause;
    int64_t from_ns, until_ns;
    int32_t line;     // HostSample::python_line
    int64_t samples;  // taken in it
};

// A part of the gap in which the thread loaded, and in which stage of that. Lies within pieces of causes of
// input.
struct StagePart {
    LoadingStage stage;
    int64_t from_ns, until_ns;
};

// A part of the gap, up to the return of N's launch, in which that range was the innermost on the thread.
// Lies within pieces of that cause.
struct OwnRangePart {
    Cause cause;
    int64_t from_ns, until_ns;
    int32_t range;  // RangeHere::range
    bool is_over;   // before N was launched: N is none of its work

    friend bool operator==(const OwnRangePart&, const OwnRangePart&) = default;
};

// Of the host part: the thread was ready, without a CPU. Lies within pieces of that cause.
struct Contended {
    Cause cause;
    int64_t ns;

    friend bool operator==(const Contended&, const Contended&) = default;
};

struct Attributed {
    std::vector<Piece> pieces;              // by time; no two in a row are alike
    bool drained_by_sync = false;           // the thread was waiting when the queue ran empty
    std::vector<Contended> contended = {};  // a row for each cause
    std::vector<PythonPart> python = {};
    std::vector<StagePart> stages = {};     // by time; without what nothing tells
    std::vector<OwnRangePart> ranges = {};  // by time

    void clear() {  // its memory stays
        pieces.clear(), contended.clear(), python.clear(), stages.clear(), ranges.clear();
        drained_by_sync = false;
    }
};

using HostLines = std::unordered_map<int64_t, HostLine>;  // by thread

// Lines hold at least from the gap's start less the latency to the launch of N, with that call.
// Throws std::logic_error if the pieces do not tile the gap: that would be a fault of this code.
Attributed attribute(const Gap& gap, const HostLines& lines, const IdleFacts& facts);
// Of all of a gap, where that can be told without the lines; none: they have to be asked.
std::optional<Cause> cause_of_all(const Gap& gap, const IdleFacts& facts);
// The same as the first, in place of what `answer` held.
void attribute(const Gap& gap, const HostLines& lines, const IdleFacts& facts, Attributed& answer);

bool tile(std::span<const Piece> pieces, int64_t from_ns, int64_t until_ns);

// Cut where steps begin (ascending). Pieces are cut, not gaps: what ended a gap is asked once.
std::vector<Piece> split_at(std::span<const Piece> pieces, std::span<const int64_t> boundaries_ns);

void add(IdleByCause& sums, std::span<const Piece> pieces);

}  // namespace gpushim::analysis
