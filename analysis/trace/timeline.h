// What one process asked of its devices, in the order in which the calls were entered, and when it ran: the
// rows of a trace as integers, one after the other. Calls that failed, were captured into a graph or never
// returned are left out. A trace of schema 1 has host times only. One thread.
//
// Of a span whose rows are gone there is a call of kind `gone`, from its start to its end, and one for each
// stream that was given operations in it, as the totals say: of these nothing is known but that they may have
// been asked for at any time from enter to exit. Windows that lie in such a span, if only in part, are left
// out: their operations are gone, and the row of one may be the sum of several. Spans in which the process
// rested, for only a part of it was asked for, are the same, for each stream; their windows are whole.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "../interval/interval.h"
#include "call.h"
#include "call_rows.h"
#include "inputs.h"

namespace gpushim::analysis {

class Timeline {
  public:
    // Calls entered at `from_ns` or later.
    explicit Timeline(const Trace& trace, CallsOf which = CallsOf::devices, int64_t from_ns = INT64_MIN);
    Timeline(const Timeline&) = delete;
    Timeline& operator=(const Timeline&) = delete;

    bool next(Call& call) {
        if (next_gone_ != nullptr && next_gone(call)) return true;
        if (table_ == nullptr) return false;
        table_->read(call);
        // Most rows follow one of the same table.
        if (!table_->has_row() || table_->enter_ns() > others_from_ns_) table_ = next_table();
        return true;
    }

    const std::vector<Lane>& lanes() const { return lanes_; }
    const Intervals& gone() const { return gone_; }                  // spans whose rows are
    const std::vector<Window>& windows() const { return windows_; }  // by enter
    const TraceWords& words() const { return words_; }
    bool windows_left_out() const { return windows_left_out_; }
    const std::vector<DeviceClock>& clocks() const { return clocks_; }  // by time

  private:
    struct Gone {
        Interval span;
        int32_t lane;
    };
    void read_windows(const Trace& trace);
    void read_clocks(const Trace& trace);
    void read_gone(const Database& base);
    void add_rests(const Intervals& rests);
    bool next_gone(Call& call);
    CallRows* next_table();

    std::vector<Lane> lanes_;
    Intervals gone_;
    std::vector<Gone> gone_calls_;     // by start
    const Gone* next_gone_ = nullptr;  // of these; nullptr: there are no more
    std::vector<Window> windows_;
    bool windows_left_out_ = false;
    std::vector<DeviceClock> clocks_;
    TraceWords words_;
    std::vector<CallRows> tables_;
    CallRows* table_ = nullptr;   // whose row is the next one …
    int64_t others_from_ns_ = 0;  // … as long as it was entered before that: then one of the others is
};

bool has_device_times(const Trace& trace);  // it is of a schema that has them
std::vector<Lane> lanes_of(const Database& base);

}  // namespace gpushim::analysis
