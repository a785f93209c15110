// What the traces of a run say of it as a whole, for table `run`. Each of them is asked once. One thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "../trace/inputs.h"
#include "pass/facts.h"

namespace gpushim::analysis {

class RunDb;

class RunTold {
  public:
    void add(const Trace& trace);  // in order of their ranks
    void write(const Inputs& inputs, const RunOptions& options, RunDb& run) const;

  private:
    void add_meta(const Trace& trace);
    void add_python(const Trace& trace);
    void add_process_of_first(const Trace& trace);

    std::optional<int64_t> expected_ranks_, started_ns_, samples_per_step_;
    std::optional<int64_t> unknown_abi_ = 0, not_ended_ = 0;
    int64_t placeless_ = 0, partly_read_ = 0;
    std::set<std::string> sources_, frameworks_, programs_;
    bool are_frameworks_told_ = false;
    std::optional<std::string> python_refused_;
    // Of the first.
    bool is_any_ = false;
    std::string executable_, run_key_;
    std::optional<std::string> tag_;
    std::map<const char*, std::string> versions_;
};

}  // namespace gpushim::analysis
