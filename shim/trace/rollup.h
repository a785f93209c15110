// Sums of what became rows: by second and series (rollup_series.h) how many events, how long, how many bytes.
// They go into `rollup` with the rows, in the same transaction, so what they say does not depend on what
// becomes of the rows, and a batch that comes again is not counted twice. Device times, which come later, are
// added to the second in which their operation was launched. The writer's thread only.
//
//   add, add_device_times   write   clear        or another Rollups on the same file: it was not written
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "../rows/rollup_series.h"
#include "../rows/tables.h"
#include "../sqlite/database.h"
#include "../sqlite/histogram.h"

namespace gpushim::shim {

class Rollups {
  public:
    Rollups(Database& base, SeriesList& series);

    // Rows that have their final ids.
    void add(Tables& tables);
    // Of a block with device times (launch_device, …) the rows that are shown; of others nothing.
    void add_device_times(const Rows& rows);
    void write();
    void clear();

  private:
    struct Increment {
        int64_t second = 0, series = 0;
        int64_t events = 0, calls = 0;
        int64_t sum_ns = 0, min_ns = 0, max_ns = 0;  // kNull: none has a duration
        int64_t bytes = 0;                           // kNull: none has a size
        Histogram durations;
    };
    struct Newest {
        int64_t second = kNull;
        size_t index = 0;
    };

    void add(const Rows& rows, const EventColumns& columns, bool of_device, size_t from, size_t until);
    Increment& of(int64_t second, int64_t series);
    Increment& of_other_second(Newest& newest, int64_t second, int64_t series);
    Increment& begin(int64_t second, int64_t series);

    SeriesList& series_;
    std::vector<Increment> increments_;  // the first used_ of them: their memory is used again
    size_t used_ = 0;
    std::vector<Newest> newest_;  // by series
    std::unordered_map<uint64_t, size_t> others_;
    std::vector<size_t> order_;
    Statement upsert_;
};

}  // namespace gpushim::shim
