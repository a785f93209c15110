// What a history says tonight: of each series of nights the newest, against the one it was compared with, and
// those before it.
#pragma once

#include <string>
#include <vector>

#include "../compare/comparison.h"
#include "../report/section.h"
#include "history_db.h"

namespace gpushim::analysis {

struct NightlyOptions {
    double threshold = kDefaultThreshold;
    size_t nights = 14;                   // that are shown of each series
    std::vector<std::string> notes;       // why the answer is inconclusive whatever the nights say
    std::optional<int64_t> oldest_ns;     // a series whose newest night began before has missed one
    std::optional<int64_t> forgotten_ns;  // … and before that is not looked for any more, if others are there
    int64_t judged_now = 0;               // so many nights are new
};

std::string label_of(const Night& night);  // when, and the run's name
const Night* night_of(const std::vector<Night>& nights, std::optional<int64_t> id);  // null: none of them
const char* result_word(ExitCode outcome);  // ok, regressed, inconclusive

// The newest night of a series.
struct Tonight {
    Night night;
    std::vector<Night> nights;  // of the series, by start; the last is `night`
    bool is_late = false;       // it should have a newer one

    ExitCode outcome() const;
    std::string name() const;  // of the series, for people
    std::string words() const;
};

std::vector<Tonight> tonight(const History& history, const NightlyOptions& options);

// The worst of them: regressed, then inconclusive; a note makes it inconclusive, and so does no night at all.
ExitCode outcome_of(const std::vector<Tonight>& all, const NightlyOptions& options);

void write_nightly(const History& history, const std::vector<Tonight>& all, const NightlyOptions& options,
                   Report& report);
std::string nightly_junit(const History& history, const std::vector<Tonight>& all,
                          const NightlyOptions& options);

}  // namespace gpushim::analysis
