// Whether a job hung: one that was killed, or runs on, in which no call of any rank has returned for much
// longer than a step takes, while at least one rank is inside a call. From the ends of the traces.
//
//   rank 0   ─step─step─step─[cuEventSynchronize ········ |   waits
//   rank 1   ─step─step─                                  |   missing: in no call, or behind in a collective
//                           |────────── for ──────────────|   |: the last that its host's traces tell of
//
// Or all wait, and in one place of a communicator they have called different collectives, which cannot meet.
// Of ranks whose traces are not there only that is said. One thread.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "source.h"

namespace gpushim::analysis {

enum class ProcessNow : uint8_t { not_known, runs, stopped, gone };

// A collective as all ranks have to call it.
struct CalledWhat {
    std::string name;
    std::optional<int64_t> bytes, root;
    bool operator==(const CalledWhat&) const = default;
};

struct LastSeen {  // the end of one trace
    std::string label;
    std::optional<int64_t> rank, world_size;
    std::string clock;       // times of one clock can be compared
    bool has_ended = false;  // as programs end: it cannot hang
    int64_t last_ns = 0;     // its last call was entered or returned
    int64_t alive_ns = 0;    // the library still wrote then
    std::string last_call;   // its name
    std::string open_call;   // that it is inside; empty: none
    int64_t open_since_ns = 0;
    bool open_waits = false;  // it is a call that waits for the device or for others, or may
    struct Collective {
        int64_t sequence;
        std::string name;
    };
    std::map<std::string, Collective> collectives;  // by communicator: the last one called
    std::map<std::string, int64_t> communicator_ranks;
    std::map<std::string, std::map<int64_t, CalledWhat>> recent;  // the last ones called, by their number
    struct Newest {
        std::string communicator;
        int64_t sequence;
        std::string name;
    };
    std::optional<Newest> newest;  // of its collectives, of all communicators
    ProcessNow process = ProcessNow::not_known;
    std::string python;  // "train.py:41 step", where a thread was seen since its last call; empty: nowhere
    std::optional<int64_t> step_ns;  // median of the newest steps that the program marked
    int64_t pid = 0;
    std::filesystem::path trace;
};

struct HungRank {
    std::optional<int64_t> rank;
    std::string label, call;  // the call it is inside; of those missing the last one
    int64_t for_ns;           // inside of it, or since then
    bool has_ended;
    bool has_written = true;    // anything; else nothing is known of its calls
    bool is_inside;             // of the call
    std::string collective;     // called last, of the communicator where ranks are furthest apart
    int64_t sequence = -1;      // its number; -1: none was called
    bool is_behind = false;     // others have called later ones
    bool may_be_in_it = false;  // it is inside of a call like the one that it has not called, or of that one
    bool is_silent = false;     // the library in it went silent, too: its process was stopped, or killed
    std::optional<LastSeen::Newest>
        elsewhere;         // its newest collective, where that is of another communicator
    bool differs = false;  // it has called something else than others in its place
    ProcessNow process = ProcessNow::not_known;
    std::string python;  // as LastSeen has it
};

struct CalledBy {
    CalledWhat what;
    std::vector<std::string> labels;
    std::vector<std::optional<int64_t>> ranks;
};
struct Mismatch {
    std::string communicator;
    int64_t sequence;
    std::vector<CalledBy> calls;  // what most ranks have called comes first
    bool differs(const std::string& label) const;
};

struct Hang {
    int64_t for_ns = 0;           // nothing moved
    std::optional<double> steps;  // as many of the usual ones
    int64_t last_sequence = -1;   // of collectives, that some rank has called
    std::string last_collective;
    std::string communicator;                   // of that; empty: none was called
    std::optional<int64_t> communicator_ranks;  // how many it has
    std::optional<Mismatch> mismatch;
    std::vector<HungRank> waiting, missing;
    int64_t world_size = 0;       // 0: nobody said
    std::vector<int64_t> absent;  // of its ranks those without a trace
};

// `after_ns`: from there on it is a hang; none: 20 usual steps, and at least 2 s. `step_ns`: the usual one;
// none: what the ranks' newest ones tell.
std::optional<Hang> judge(const std::vector<LastSeen>& ranks, std::optional<int64_t> step_ns,
                          std::optional<int64_t> after_ns = {});
std::optional<Hang> hang_of(const ReportSource& source);  // none where only the run is there

}  // namespace gpushim::analysis
