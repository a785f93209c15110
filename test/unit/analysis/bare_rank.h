// A rank of which nothing is known but its number, how many there are, and that its steps are the program's
// own.
#pragma once

#include <string>

#include "analysis/run/run_db.h"

namespace made {

using namespace gpushim::analysis;

inline void add_rank(RunDb& run, int64_t rank, int64_t ranks) {
    run.add("rank", {rank,
                     rank,
                     ranks,
                     nullptr,
                     nullptr,
                     nullptr,
                     nullptr,
                     nullptr,
                     nullptr,
                     nullptr,
                     nullptr,
                     nullptr,
                     nullptr,
                     nullptr,
                     nullptr,
                     nullptr,
                     nullptr,
                     nullptr,
                     nullptr,
                     nullptr,
                     nullptr,
                     nullptr,
                     std::string("gpushim_step"),
                     nullptr,
                     1.0,
                     nullptr,
                     int64_t{1}});
}

}  // namespace made
