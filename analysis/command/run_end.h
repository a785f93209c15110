// What `gpushim run` says when the program has ended: which traces it left and what to type next, or that
// there are none and why. Each is one line, without our name in front.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "../process/run_notes.h"

namespace gpushim::analysis {

struct LeftTrace {
    std::filesystem::path path;
    double bytes;  // with its log
};

// "2 traces: traces/a.db (0.9 MB), traces/b.db (1.2 MB); next: gpushim report traces"; at most five are
// named. `program`: what to type for us. `failed`: processes beside them that could not make theirs.
std::string traces_text(std::span<const LeftTrace> traces, size_t failed, const std::string& program);

// What is known to have kept the traces from being made, each as a clause; empty: nothing is known.
std::vector<std::string> why_no_trace(const RunLeft& left, std::span<char* const> command);
std::string nothing_text(const std::vector<std::string>& known, const std::string& program);

// Said on stderr, unless GPUSHIM_LOG asks for less.
void tell_end_of_run(const RunLeft& left, std::span<char* const> command);

}  // namespace gpushim::analysis
