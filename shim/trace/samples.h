// Rows that say how things were, not what happened: NVML, clocks, windows, our own cost. Of a span whose
// events are gone few of them are worth their place: one reading of a clock or a device, the sums of what we
// cost and of windows. The writer's thread, within a transaction of its caller's; throws DatabaseError.
#pragma once

#include <cstdint>
#include <vector>

#include "../sqlite/database.h"

namespace gpushim::shim {

class Samples {
  public:
    explicit Samples(Database& base);

    // In [from_ns, until_ns). `one_stays` is false: nothing of NVML and the devices' clocks does.
    void thin(int64_t from_ns, int64_t until_ns, bool one_stays);
    // The same, of so many rows of a table. False: there are more.
    bool thin_some(int64_t from_ns, int64_t until_ns, bool one_stays, int64_t most_rows);
    // The same in those parts of it whose events are gone.
    void thin_what_is_gone(int64_t from_ns, int64_t until_ns);
    int64_t count();

  private:
    struct Span {
        int64_t from_ns, until_ns;
    };
    std::vector<Span> gone_in(int64_t from_ns, int64_t until_ns);

    std::vector<Statement> thinning_;
    std::vector<Statement> nth_;  // of the tables that get many in a short time
    Statement gone_, count_;
};

}  // namespace gpushim::shim
