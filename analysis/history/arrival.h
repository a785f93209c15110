// What came in: a run to judge, as far as it can be told before it is analysed. One thread.
#pragma once

#include <cstdint>
#include <set>
#include <string>

namespace gpushim::analysis {

struct Arrival {
    std::string word;              // as given
    std::set<std::string> traces;  // by their own ids; empty: nothing of it could be read
    std::string still_writing;     // a trace whose process runs; empty: all have ended
    std::string why_empty;
    int64_t started_real_ns = 0;
    int64_t changed_real_ns = 0;  // the newest of its files
};

Arrival look_at(const std::string& word);

}  // namespace gpushim::analysis
