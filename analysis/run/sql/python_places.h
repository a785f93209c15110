// The lines of Python that hosts were in while GPUs were idle, by samples (table idle_python): which, how
// much of that time, and how many samples say so. Read-only; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../../idle/cause.h"

struct sqlite3;

namespace gpushim::analysis {

struct PythonPlace {
    std::string file, function;
    std::optional<int64_t> line;  // none: the interpreter told none
    double idle_share;            // of the idle time of these causes, of all GPUs in windows
    int64_t samples, of_samples;  // in it; in any line
    // Of the libraries that it called into the innermost line, where most of its samples are in one:
    // "memory.py:46 (clear_device_cache)"; and how many are.
    std::string inside = {};
    int64_t inside_samples = 0;

    std::string name() const;  // train.py:212 (main)
    std::string inside_text()
        const;                       // ", there in memory.py:46 (clear_device_cache)"; empty: nothing to tell
    std::string count_text() const;  // 30 of 41 samples
};

// Of idle time of these causes (nullptr: of all), the largest first. Empty: nothing was sampled.
std::vector<PythonPlace> python_places(sqlite3* run, const Causes* causes, int64_t most);

}  // namespace gpushim::analysis
