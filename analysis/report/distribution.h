// How long calls took: every value with how often it came, so percentiles are exact; within an eighth where
// they come from histograms.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../text/json.h"
#include "../text/units.h"
#include "../trace/plausible.h"

namespace gpushim::analysis {

class Distribution {
  public:
    // Calls that took that long together; each is taken to have taken the same.
    void add(int64_t sum_ns, int64_t calls) {
        if (is_odd(sum_ns, calls)) return;
        calls_ += calls;
        sum_ns_ += sum_ns;
        if (calls > 0) counts_[sum_ns / calls] += calls;
    }
    // Of each length so many, within an eighth; what they come to is known exactly.
    void add_rough(int64_t ns, int64_t calls) {
        counts_[ns] += calls;
        is_rough_ = true;
    }
    void add_all_alike(int64_t ns, int64_t calls) { counts_[ns] += calls; }
    void add_total(int64_t sum_ns, int64_t calls) {
        if (is_odd(sum_ns, calls)) return;
        calls_ += calls;
        sum_ns_ += sum_ns;
    }
    void add_untimed(int64_t calls) {
        if (!is_odd(0, calls)) calls_ += calls;
    }

    bool is_rough() const { return is_rough_; }
    int64_t calls() const { return calls_; }
    int64_t sum_ns() const { return sum_ns_; }
    int64_t odd_rows() const { return odd_rows_; }  // what they say cannot be: nothing of them is in it

    // The smallest value that at least this share of the timed calls does not exceed; -1: none was timed.
    //   values 1 2 3 4: 0.5 → 2, 0.99 → 4
    int64_t percentile(double share) const {
        std::vector<std::pair<int64_t, int64_t>> sorted(counts_.begin(), counts_.end());
        std::sort(sorted.begin(), sorted.end());
        int64_t timed = 0, seen = 0;
        for (const auto& [value, count] : sorted) timed += count;
        for (const auto& [value, count] : sorted)
            if (static_cast<double>(seen += count) >= share * static_cast<double>(timed)) return value;
        return -1;
    }

    // For people: with a ~ where it is rough; where none was timed, `none`.
    std::string percentile_text(double share, const char* none) const {
        const int64_t ns = percentile(share);
        if (ns < 0) return none;
        return (is_rough_ ? "~" : "") + duration_text(static_cast<double>(ns));
    }
    // `key`, and what it lies between where it is rough.
    void set_percentile(Json& json, const std::string& key, double share) const {
        const int64_t ns = percentile(share);
        json.set(key, ns < 0 ? Json() : Json(ns));
        if (ns < 0 || !is_rough_) return;
        json.set(key + "_low", ns - ns / kRoughly);
        json.set(key + "_high", ns + ns / kRoughly);
    }

  private:
    static constexpr int64_t kRoughly = 8;

    bool is_odd(int64_t sum_ns, int64_t calls) {
        const bool is = !is_plausible_count(calls) || !is_plausible_call(sum_ns) ||
                        sum_ns_ > INT64_MAX - sum_ns || calls_ > INT64_MAX - calls;
        if (is) ++odd_rows_;
        return is;
    }

    std::unordered_map<int64_t, int64_t> counts_;
    int64_t calls_ = 0;
    int64_t sum_ns_ = 0, odd_rows_ = 0;
    bool is_rough_ = false;
};

}  // namespace gpushim::analysis
