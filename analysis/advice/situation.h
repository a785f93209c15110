// What rules know of a run: its database, and what is asked of it by many of them. Read-only; one thread.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../run/sql/counted_steps.h"
#include "../run/sql/idle_ranges.h"
#include "../run/sql/input_stages.h"
#include "../trace/work_bound.h"
#include "advice_words.h"
#include "finding.h"
#include "serving.h"
#include "unlike_sample.h"
#include "what_if.h"

struct sqlite3;

namespace gpushim::analysis {

// What a person gave with the command; wins over what the run was analysed with.
struct Given {
    std::optional<int64_t> params = {}, samples_per_step = {};
    std::optional<double> bandwidth_bytes_per_s = {};
};

inline constexpr Causes kInputCauses = {"input_loading", "input_cpu", "input_wait"};

class Situation {
  public:
    explicit Situation(sqlite3* run, const Given& given = {})
        : Situation(run, std::make_shared<const CountedSteps>(run), given) {}
    Situation(sqlite3* run, std::shared_ptr<const CountedSteps> basis, const Given& given = {});
    Situation(const Situation&) = delete;

    Query ask(std::string_view sql) const { return {run_, file_of(run_), sql}; }
    std::optional<double> real(std::string_view sql) const;  // of the first row; none: no row, or NULL
    std::optional<int64_t> number(std::string_view sql) const;
    std::optional<double> metric(std::string_view name) const;  // the largest of all GPUs or ranks
    std::vector<Evidence> rows(const char* table, std::string_view sql) const;  // whose query gives rowids

    const CountedSteps& basis() const { return *basis_; }
    // Its gap list: what would be left of a step without something. No steps in it: nothing was timed.
    const WhatIf& what_if() const { return what_if_; }
    bool is_known() const { return what_if_.steps() > 0 && !unlike_sample_; }
    // What was timed says nothing of the rest of the run.
    const std::optional<UnlikeSample>& unlike() const { return unlike_sample_; }
    // What gains are of: the mean of the steps of what_if(); of steps of which none was timed as a whole, the
    // mean of all that count; where there are none, a second.
    double step_ns() const { return what_if_.step_ns(); }
    bool has_steps() const { return what_if_.has_steps(); }  // that were timed as a whole
    bool is_per_step() const { return has_steps() || each_step_ns_ > 0; }
    // Nothing tells idle time of these causes from a start: one step was recorded; or none were found, and
    // most of it lies in the first fifth of the run, or in few long stretches.
    bool may_be_start(Causes causes) const;
    int64_t gpus() const { return gpus_; }
    int64_t ranks() const { return ranks_; }
    const Given& given() const { return given_; }
    const Serving& serving() const { return serving_; }

    // What to try, in words that fit the program: rows of advice.def.
    std::string advice(std::initializer_list<std::string_view> keys) const {
        return advice_for(ecosystem_, keys);
    }
    const Ecosystem& ecosystem() const { return ecosystem_; }

    std::string per() const { return is_per_step() ? "step" : "second"; }  // "of 20.0 ms a step"
    std::string each() const { return has_steps() ? "in every step" : "again and again"; }
    double counted(double whole_run) const;  // of all steps together, to one of them, or a second

    // The host reads something small in every step and waits for it: so often in one, and in at least a
    // quarter of its waits. Then what it does afterwards is that wait's: with work in the queue the GPU would
    // not have waited.
    double reads_each() const;
    bool reads_every_step() const;

    // How much of a step's idle time is input: all of what the framework or samples of Python called a
    // loader; of what is taken for it because a batch follows, not much more than is usual: the rest is
    // something else (step_gap).
    double input_ns(const GpuInStep& gpu) const;
    double more_than_input_ns(const GpuInStep& gpu) const;

    // By GPU: of a mean step, for how long copies ran and nothing else did.
    std::map<int64_t, double> only_copies_ns() const;

    // In which line of Python hosts were most, by samples in idle time of these causes, and how many samples
    // say so; where these are too few, in which range of the program for most of that time. Empty: nothing
    // tells.
    std::string seen_in(Causes causes) const;
    // The range of the program that hosts were in for most of that idle time, also in words.
    std::optional<IdleRange> range_of(Causes causes) const;
    std::string in_range(Causes causes) const;

    // In which stages of loading a batch the hosts were in idle time for input; empty: nothing tells.
    std::vector<InputStage> input_stages() const { return gpushim::analysis::input_stages(run_); }

    // The rows of `gap` of these causes in which most time went, for evidence.
    std::vector<Evidence> gaps_of(Causes causes) const;

  private:
    sqlite3* run_;
    Given given_;
    std::shared_ptr<const CountedSteps> basis_;
    WhatIf what_if_;
    // By rank. Rules ask for it in every step: once, because all steps say it.
    std::map<int64_t, double> usual_input_ns_;
    Ecosystem ecosystem_;
    Serving serving_;
    std::optional<UnlikeSample> unlike_sample_;
    int64_t gpus_ = 0, ranks_ = 0;
    double run_ns_ = 0;
    double all_steps_ = 0;     // also parts of one
    double each_step_ns_ = 0;  // the mean of those that count, timed or not
};

}  // namespace gpushim::analysis
