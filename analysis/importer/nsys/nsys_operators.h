// Operators of PyTorch in an export of Nsight Systems: under emit_nvtx each is a range, whose name ends with
// its numbers ("aten::add, seq = 12, op_id = 34"). Pure; any thread.
#pragma once

#include <map>
#include <optional>
#include <string_view>

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

// Operators tell what a thread was in only where they are told from its first call to its last, but for a
// twentieth of that: a program may ask for them in a part of its run, and else be in others that are not
// told.
bool tell_throughout(const SpanOfThread& operators, const SpanOfThread& calls, int64_t thread);

}  // namespace gpushim::analysis
