// What is known of a run at one moment, for what shows it. Plain values; what is not recorded is none, and
// a text beside it says why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../idle/cause.h"
#include "../interval/interval.h"
#include "pace_change.h"

namespace gpushim::analysis {

// How a GPU spent a short time in which all its operations were timed: the parts add up to it. The same words
// as in the report.
struct GpuParts {
    int64_t whole_ns = 0;
    int64_t productive_ns = 0;  // at least one compute kernel or graph ran
    int64_t transfer_ns = 0;    // else: a collective moved data
    int64_t peer_wait_ns = 0;   // else: a collective waited for other ranks
    bool is_wait_known = true;  // false: not all of its ranks are here, and transfer_ns has the wait in it
    int64_t copy_ns = 0;        // else: copies and memsets
    IdleByCause idle;

    GpuParts& operator+=(const GpuParts& other);
    double share(int64_t ns) const {
        return whole_ns > 0 ? static_cast<double>(ns) / static_cast<double>(whole_ns) : 0;
    }
};

struct GpuNow {
    int64_t device_id = 0;  // in its process
    std::string uuid, name;
    bool is_simulated = false;
    std::optional<GpuParts> parts;
    std::string why_no_parts;  // empty: there are some
    // Of a rank whose pace has changed: of the windows before that, and since; none: there is none.
    std::optional<GpuParts> parts_before, parts_since;
    // The newest sample of NVML: of the whole device and all who use it.
    std::optional<double> memory_used_bytes, memory_total_bytes, power_mw, power_limit_mw, temperature_c,
        sm_mhz;
};

// How long steps take: of those in the newest ten seconds.
struct PaceNow {
    std::optional<int64_t> median_ns;
    std::optional<double> change;  // against the 50 s before: 0.03 is 3 % slower
    int64_t steps = 0;
    bool is_marked = true;  // false: found in what the newest window repeats
    // Of each five seconds, the oldest first; none: no step ended in them.
    std::vector<std::optional<int64_t>> course_ns;
};

enum class RankState : uint8_t {
    running,
    quiet,   // its writer writes, and it makes no calls
    silent,  // nothing was written for a while: stopped, or its disk is slow
    ended,
    died,       // it is gone, and has left no word
    unreadable  // `why` says why
};

// How fast collectives of one kind and size were in the newest window (analysis/collective/): mean of all
// that moved something, each by its time.
struct CollectiveRate {
    std::string_view api;   // ncclAllReduce
    uint64_t size = 0;      // of one call: size_class
    int64_t ranks = 0;      // of its communicators
    int64_t transfers = 0;  // how many these were
    double algbw_bytes_per_s = 0, busbw_bytes_per_s = 0;
};

struct RankNow {
    std::string trace, host, label;  // label: "3", or "p4711" where the rank is not known
    std::string job, pod;            // empty: not known
    std::optional<int64_t> rank;
    int64_t pid = 0;
    RankState state = RankState::running;
    std::string why;                     // of a state that needs words
    std::optional<int64_t> news_age_ns;  // since anything was written; none: the clocks cannot be compared
    std::optional<int64_t> call_age_ns;  // since the newest call that has returned
    std::string open_call;               // of a rank that is quiet or silent: what its threads are in
    PaceNow pace;
    std::optional<PaceChange> change;  // of marked steps, the newest one since somebody looks
    int64_t changed_step = 0;          // how many marked steps came before it
    int64_t changed_real_ns = 0;
    std::optional<double> own_share;     // of the thread that paid most
    std::optional<double> writer_share;  // of a core
    int64_t dropped = 0;
    std::optional<int64_t> window_age_ns;  // of what the GPUs' parts are of
    std::vector<GpuNow> gpus;
};

struct RunNow {
    std::string folder, program;
    int64_t taken_real_ns = 0;
    std::optional<int64_t> started_real_ns;
    std::optional<int64_t> ranks_expected;
    std::vector<RankNow> ranks;     // by rank
    std::optional<size_t> slowest;  // in ranks: the one that the others waited for
    std::vector<CollectiveRate> collectives;
    std::vector<std::string> notes;  // what else the reader should know

    bool is_simulated() const;  // any GPU of it
};

// Idle time of all of the parts, and the cause that most of it has; none: it was not idle.
std::optional<Cause> main_cause(const GpuParts& parts);
// Of a rank with several GPUs together; none: of no GPU.
std::optional<GpuParts> parts_of(const RankNow& rank);
// Waited least for others, by so much that it is no accident: each of the others by 1 % of the time more.
std::optional<size_t> slowest_of(const std::vector<RankNow>& ranks);

const char* name_of(RankState state);

}  // namespace gpushim::analysis
