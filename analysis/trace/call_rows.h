// The rows of one table of a trace as calls, in order of enter, each with its device times where it has some:
// both tables are read side by side, so nothing is looked up. One thread.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "../interval/interval.h"
#include "../sqlite/number_rows.h"
#include "by_number.h"
#include "call.h"

namespace gpushim::analysis {

// What the numbers in rows mean.
struct TraceWords {
    struct Error {
        int64_t start_low_ns, start_high_ns, end_low_ns, end_high_ns, likely_ns;
        int32_t events;
        bool queued;
    };
    ByNumber<int32_t> lane_of_stream;
    ByNumber<Error> errors;
    ByNumber<CallKind> kind_of_api;
    std::unordered_set<int64_t> lookups;    // APIs that look functions up
    std::vector<std::string> host_classes;  // what samples said a thread was blocked on
};
TraceWords words_of(const Database& base);

// Those that say what devices did, or all; or all without device times.
enum class CallsOf : uint8_t { devices, host_too, host_times };

struct CallTable;
std::vector<const CallTable*> call_tables(const Database& base, CallsOf which);  // those that it has

// How many rows all of these have: each of their pages is looked at.
int64_t count_calls(const Database& base);

class CallRows {
  public:
    CallRows(const Database& base, const CallTable& table, const TraceWords& words, CallsOf which,
             Interval entered);

    bool has_row() const { return has_row_; }
    int64_t enter_ns() const { return row_.key; }  // of the row that it stands at
    void read(Call& call);                         // that row; then it stands at the next one

  private:
    void step();
    bool is_call() const;
    bool tells_what_is_asked() const;
    void read_times(Call& call);

    const CallTable* table_;
    const TraceWords* words_;
    bool only_devices_;
    int64_t until_ns_;
    NumberRows rows_;
    std::optional<NumberRows> times_;
    NumberRow row_, times_row_;
    bool has_row_ = false, has_times_ = false;
};

}  // namespace gpushim::analysis
