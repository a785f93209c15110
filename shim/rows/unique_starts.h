// Makes the start of every event the id of its row: within a table no two begin in the same nanosecond, a
// later one moves on. Rows of one batch come in order; one that belongs before rows that are in the table
// already (its call was open while they were written) is compared with those. The writer's thread only.
#pragma once

#include <set>

#include "../sqlite/database.h"

namespace gpushim::shim {

class UniqueStarts {
  public:
    UniqueStarts(Database& base, const char* table);
    void place(Rows& rows);
    uint64_t moved() const { return moved_; }

  private:
    int64_t place(int64_t start);
    bool is_taken(int64_t start);

    int64_t newest_ = 0;  // of all rows
    int64_t written_newest_ = 0;
    std::set<int64_t> late_;  // of this batch
    Statement there_;
    uint64_t moved_ = 0;
};

}  // namespace gpushim::shim
