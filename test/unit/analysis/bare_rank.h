// A rank of which nothing is known but its number, how many there are, and that its steps are the program's
// own.
#pragma once

#include <string>

#include "analysis/run/sql/run_db.h"
#include "known_row.h"

namespace made {

inline void add_rank(RunDb& run, int64_t rank, int64_t ranks) {
    add_known(run.raw(), "rank",
              {{"rank_id", rank},
               {"rank", rank},
               {"world_size", ranks},
               {"steps_source", std::string("gpushim_step")},
               {"steps_confidence", 1.0},
               {"micro_steps", 1}});
}

}  // namespace made
