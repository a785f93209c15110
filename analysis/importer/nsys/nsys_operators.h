// Operators of PyTorch in an export of Nsight Systems: under emit_nvtx each is a range, whose name ends with
// its numbers ("aten::add, seq = 12, op_id = 34"). Pure; any thread.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "../../interval/interval.h"

namespace gpushim::analysis {

struct NsysOperator {
    std::string_view name;  // without its numbers
    std::optional<int64_t> sequence;
    bool is_backward;
};

// None: it is a range of the program's own.
std::optional<NsysOperator> operator_in(std::string_view range);

using SpanOfThread = std::map<int64_t, Interval>;

void extend(SpanOfThread& spans, int64_t thread, Interval by);

// What lies before a thread's first operator and behind its last, as far as its calls go, 1 ns at least: a
// program may ask for them in a part of its run, and else be in others that are not told.
std::pair<Interval, Interval> untold_around(const Interval& operators, const Interval& calls);

}  // namespace gpushim::analysis
