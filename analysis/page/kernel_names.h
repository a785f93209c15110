// What kernels are called on a page: by one short name in each drawing and table; and by the whole name once,
// in the table of kernels, which a span of the timeline refers to.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "part.h"

namespace gpushim::analysis {

constexpr size_t kMostKernels = 200;  // of the table

class KernelNames {
  public:
    explicit KernelNames(const PageInput& input);

    // Of the nth of the report's kernels.
    const std::string& short_name(size_t nth) const { return rows_[nth].short_name; }
    const std::string& full_name(size_t nth) const { return rows_[nth].full; }  // empty: the short one is all
    std::string id(size_t nth) const { return "kernel-" + std::to_string(nth); }  // of what has the full name
    // A kernel's name by what the run has kept of it in a step: what all words of a span are made from.
    const std::string& name_of(const std::string& kept) const;
    // The id of such a kernel; empty: the table does not have it whole.
    std::string id_of(const ReportSource& source, const std::string& kept) const;

  private:
    struct Row {
        std::string short_name, full;
    };
    std::unordered_map<std::string, std::string> cut_;  // names by what the run has kept of them
    std::vector<Row> rows_;
    std::unordered_map<std::string, size_t> whole_;  // nth by the name in the report
};

}  // namespace gpushim::analysis
