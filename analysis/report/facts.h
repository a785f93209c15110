// An object of the report's JSON in which whatever is null says why: its `why` is the reason, and where there
// are several, names the keys of each.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../text/json.h"

namespace gpushim::analysis {

class Facts {
  public:
    Facts& known(const char* key, Json value) {
        json_.set(key, std::move(value));
        return *this;
    }
    template <class T>
    Facts& maybe(const char* key, const std::optional<T>& value, std::string_view why) {
        json_.set(key, value ? Json(*value) : Json());
        if (!value) missing(key, why);
        return *this;
    }
    // An interval or an estimate: `key_low` and `key_high` stand beside it where they are known.
    Facts& between(const std::string& key, const std::optional<double>& value, std::optional<double> low,
                   std::optional<double> high, std::string_view why);
    void missing(const std::string& key, std::string_view why);  // of what was set otherwise, null
    Json json();                                                 // once

  private:
    Json json_ = Json::object();
    std::vector<std::pair<std::string, std::string>> whys_;  // why, keys
};

// part / whole; none: there is no whole.
std::optional<double> share_of(double part, double whole);
std::string percent_text(double share);    // "34.0 %"; below 1 %: "0.40 %"
std::string sure_text(double confidence);  // "80 % sure"; 100 only where it is 1
std::string figure_text(const char* format, double value);
// "4–8 %", "73 %", "up to 4 %", "0.4–1 %": in whole percents, but for what is below one.
std::string shares_text(double low, double high);
std::string times_text(double low_ns, double high_ns);  // "4.10–4.80 ms": both in the unit of the larger

}  // namespace gpushim::analysis
