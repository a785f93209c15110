// A call of a kept step, and what a click on it tells.
#pragma once

#include <string>
#include <unordered_map>

#include "kept_step.h"
#include "kernel_names.h"

namespace gpushim::analysis {

struct KeptCall {
    std::string kind, api, kernel;  // kernel: full name; empty: it is none, or its name is not recorded
    int64_t device, stream, enter_ns, start_ns, ran_ns, error_ns, before;
    std::optional<int64_t> call_ns;  // how long the call took
    bool is_collective;              // of NCCL
    int64_t direction;               // of a copy
    std::optional<int64_t> bytes;    // of a copy or memset
    std::string range, line;         // it was called in; empty: none

    explicit KeptCall(const Query& row);
};

// All operations of a kept step that have device times, in the order in which they were called:
// `KeptCall(row)`.
Query kept_operations(const ReportSource& source, const RankInStep& rank);

// What the words of a call are told by: whether the step has any ranges and lines at all.
class CallWords {
  public:
    CallWords(const ReportSource& source, const KernelNames& names, const RankInStep& rank);
    std::string name(const KeptCall& call) const;  // of a kernel as in the report's table
    // has_whole_name: a kernel's is told elsewhere on the page.
    std::vector<std::string> details(const KeptCall& call, bool has_whole_name) const;

  private:
    std::string where(const KeptCall& call) const;
    std::string called(const KeptCall& call) const;
    std::string line(const KeptCall& call) const;

    const ReportSource& source_;
    const KernelNames& names_;
    const RankInStep& rank_;
    bool has_ranges_, has_lines_;
    mutable std::unordered_map<std::string, std::string> short_names_;  // each is made once
};

}  // namespace gpushim::analysis
