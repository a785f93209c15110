#include "facts.h"

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

}  // namespace gpushim::analysis
