// A table of an export of Nsight Systems: the columns that are asked for are read by number, in the order in
// which they were asked for; one that this version does not have is NULL. A name may stand for several: `a|b`
// is the first of them that is there. `#a` is the text of which column a has the number. One thread.
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "../../sqlite/database.h"
#include "../../terminal/progress.h"

namespace gpushim::analysis {

// Serialised numbers of processes and threads: the host's, then 24 bits of each. 0: not told.
constexpr int64_t kIdBits = 24, kIdMask = (int64_t{1} << kIdBits) - 1;
inline int64_t process_of(std::optional<int64_t> global) {
    return global ? (*global >> kIdBits) & kIdMask : 0;
}

class NsysTable {
  public:
    NsysTable(const Database& base, std::string_view table, std::initializer_list<std::string_view> columns);

    // False at once where there is no such table.
    bool step() {
        ++read_;
        return query_ && query_->step();
    }
    std::optional<int64_t> maybe(int column) const { return query_->maybe(column); }
    int64_t number(int column) const { return query_->number(column); }
    std::string text(int column) const { return query_->text(column); }
    // All of them, or none.
    std::optional<std::array<int64_t, 3>> three(int column) const;

  private:
    std::optional<Query> query_;
    ProgressCount read_;
};

}  // namespace gpushim::analysis
