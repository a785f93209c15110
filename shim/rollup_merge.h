// Makes rollups coarser, the oldest first: seconds become spans of ten, those of a minute, and so on. Sums
// are added and histograms, too, so totals stay what they were; so do the steps'. Samples are thinned alike.
// What comes late, for a span that is coarse already, is added to what stands at its second. The writer's
// thread, within a transaction of its caller's; throws DatabaseError.
//
//   seconds   |------ 600 ------|--- 60 ---|-- 10 --|- 1 -| now       about as many spans of each
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "database.h"
#include "samples.h"

namespace gpushim::shim {

class RollupMerge {
  public:
    RollupMerge(Database& base, Samples& samples);

    // Makes one span of the next coarser kind. How many rows that has freed; nothing: all is of the coarsest
    // kind, or of the last minute.
    // `at_any_cost`: the last minute, too.
    std::optional<int64_t> merge_some(bool at_any_cost = false);
    // Steps of the last minute, too, where they are very many: so many of the oldest into one. Nothing: there
    // are not twice as many.
    std::optional<int64_t> merge_oldest_steps(int64_t rows);

  private:
    struct Level {
        int64_t seconds;
        int64_t before;  // from before that second nothing is finer
    };
    void load_levels(int64_t fine_seconds);
    int64_t begin_of_next(size_t coarser) const;
    int64_t end_of_next(size_t coarser) const;
    size_t most_crowded() const;
    int64_t merge(int64_t from, int64_t until, int64_t seconds);
    int64_t merge_steps(int64_t from_ns, int64_t until_ns);
    int64_t run(Statement& statement, int64_t from, int64_t until);

    Samples& samples_;
    std::vector<Level> levels_;  // finest first
    Statement extent_, level_, level_row_, changes_;
    Statement there_, sums_, rest_;
    Statement single_steps_, step_ends_, step_sums_, step_rest_, step_rows_, no_steps_;
};

}  // namespace gpushim::shim
