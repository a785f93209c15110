// The rows of one table of a trace as calls, in order of enter, each with its device times where it has some:
// both tables are read side by side, so nothing is looked up. One thread.
#pragma once

#include <optional>
#include <vector>

#include "../interval/interval.h"
#include "../sqlite/number_rows.h"
#include "call.h"
#include "trace_words.h"

namespace gpushim::analysis {

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
    int64_t enter_ns() const { return rows_.row().key; }  // of the row that it stands at
    void read(Call& call);                                // that row; then it stands at the next one

  private:
    void step();
    [[gnu::noinline]] void pass_others();
    bool is_asked_for() const;
    bool is_call() const;
    bool tells_what_is_asked() const;
    [[gnu::noinline]] void read_row(Call& call) const;
    void read_times(Call& call);
    int32_t lane_of(int64_t stream_id);
    [[gnu::noinline]] int32_t find_lane(int64_t stream_id);
    const TraceWords::Error* error_of(int64_t level_error_id);
    [[gnu::noinline]] const TraceWords::Error* find_error(int64_t level_error_id);

    const CallTable* table_;
    const TraceWords* words_;
    bool only_devices_;
    int64_t until_ns_;
    NumberRows rows_;
    std::optional<NumberRows> times_;
    Call blank_ = {};  // what all calls of the table have
    bool has_row_ = false, has_times_ = false;
    // Rows mostly say the same as the one before.
    int64_t last_stream_id_ = 0, last_error_id_ = 0;
    int32_t last_lane_;
    const TraceWords::Error* last_error_ = nullptr;
};

}  // namespace gpushim::analysis
