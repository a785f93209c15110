// Which files the words of a command line mean: a file is itself, a folder the traces in it.
#pragma once

#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../sqlite/database.h"

namespace gpushim::analysis {

class Recovery;

struct Trace {
    std::filesystem::path path;
    Database base;
    int64_t pid;
    std::optional<int64_t> rank;
    std::optional<int64_t> world_size;
    std::string run_key;
    std::string host;
    std::string executable;
    int64_t started_real_ns;  // 0: not recorded
    std::string uuid;
    std::optional<std::string> boot_id = {};  // none: it was not read yet; empty: it is not recorded
    // Rows from here on may not be all there yet: the process still writes.
    int64_t until_ns = std::numeric_limits<int64_t>::max();
    // Nobody asks for what was before: calls, marks and windows from here on are read, and no others.
    int64_t from_ns = std::numeric_limits<int64_t>::min();
    // Of windows nothing before and nothing behind these.
    int64_t windows_from_ns = std::numeric_limits<int64_t>::min();
    int64_t windows_until_ns = std::numeric_limits<int64_t>::max();

    std::string label() const;  // "rank 3", else "process 4711"
};

// Throws Failure. `file`: what is read, the trace itself or a copy of it.
Trace open_trace(const std::filesystem::path& path, const std::filesystem::path& file);

// Processes without a key of their own are each a run.
std::string run_of(const Trace& trace);

// As the file's header says; none: it is no regular file, or too short. Nothing is opened by SQLite.
std::optional<int64_t> application_of(const std::filesystem::path& file);

// The .db files of a folder, by name; databases of runs, which were made of traces, are none.
std::vector<std::filesystem::path> databases_in(const std::filesystem::path& folder);

struct Inputs {
    std::vector<Trace> traces;         // by rank, then start
    std::vector<std::string> refused;  // "FILE: why", of those that could not be read
    std::vector<std::string> notes;    // what else the reader should know
};

// Opens all that is there. Of one folder with several runs the newest is taken and the others are noted.
// Throws Failure where nothing is left.
Inputs open_traces(std::span<const std::string> words, const Recovery& recovery);

}  // namespace gpushim::analysis
