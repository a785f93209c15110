#include "facts.h"

#include <cmath>
#include <cstdio>

namespace gpushim::analysis {

void Facts::missing(const std::string& key, std::string_view why) {
    for (auto& [said, keys] : whys_) {
        if (said != why) continue;
        keys += ", " + key;
        return;
    }
    whys_.emplace_back(why, key);
}

Facts& Facts::between(const std::string& key, const std::optional<double>& value, std::optional<double> low,
                      std::optional<double> high, std::string_view why) {
    maybe(key.c_str(), value, why);
    if (low) json_.set(key + "_low", *low);
    if (high) json_.set(key + "_high", *high);
    return *this;
}

Json Facts::json() {
    std::string all;
    for (const auto& [why, keys] : whys_)
        all += (all.empty() ? "" : "; ") + (whys_.size() > 1 ? keys + ": " : "") + why;
    if (!all.empty()) json_.set("why", all);
    return std::move(json_);
}

std::optional<double> share_of(double part, double whole) {
    return whole > 0 ? std::optional(part / whole) : std::nullopt;
}

std::string percent_text(double share) {
    char text[32];
    std::snprintf(text, sizeof text, share != 0 && share < 0.00995 ? "%.2f %%" : "%.1f %%", 100 * share);
    return text;
}

std::string sure_text(double confidence) {
    constexpr double kRounding = 1e-9;  // 0.29 is a little less
    return figure_text("%.0f", std::floor(100 * confidence + kRounding)) + " % sure";
}

std::string figure_text(const char* format, double value) {
    char text[48];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

namespace {

std::string from_to(const std::string& low, const std::string& high) {
    const bool is_zero = low.find_first_not_of("0.") == std::string::npos;
    return low == high ? high : is_zero ? "up to " + high : low + "–" + high;
}

}  // namespace

std::string shares_text(double low, double high) {
    const auto one = [](double share) {
        return figure_text(share != 0 && share < 0.00995 ? "%.1f" : "%.0f", 100 * share);
    };
    return from_to(one(low), one(high)) + " %";
}

std::string times_text(double low_ns, double high_ns) {
    const auto reaches = [&](double unit) { return high_ns >= 0.9995 * unit; };  // as it is rounded
    const double unit = reaches(1e9) ? 1e9 : reaches(1e6) ? 1e6 : reaches(1e3) ? 1e3 : 1;
    const char* const name = unit == 1e9 ? " s" : unit == 1e6 ? " ms" : unit == 1e3 ? " us" : " ns";
    const double high = high_ns / unit;
    const char* const format = high >= 100 || unit == 1 ? "%.0f" : high >= 10 ? "%.1f" : "%.2f";
    const std::string from = figure_text(format, low_ns / unit), to = figure_text(format, high);
    return from_to(from, to) + name;
}

}  // namespace gpushim::analysis
