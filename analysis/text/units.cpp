#include "units.h"

#include <cmath>
#include <cstdio>
#include <ctime>
#include <span>

namespace gpushim::analysis {

namespace {

struct Unit {
    const char* name;
    double size;
};

// Three digits; of what is below 1 in the smallest unit, as many as there are.
std::string scaled(double value, std::span<const Unit> units) {
    const Unit* unit = &units.back();
    for (const Unit& candidate : units) {
        if (std::fabs(value) >= candidate.size * 0.9995) {
            unit = &candidate;
            break;
        }
    }
    const double shown = value / unit->size;
    const bool whole = unit == &units.back() && shown == std::round(shown);
    const int decimals = whole || std::fabs(shown) >= 99.95 ? 0 : std::fabs(shown) >= 9.995 ? 1 : 2;
    char text[48];
    std::snprintf(text, sizeof text, "%.*f %s", decimals, shown, unit->name);
    return text;
}

}  // namespace

std::string count_text(int64_t count) {
    const std::string digits = std::to_string(count);
    std::string text;
    for (size_t i = 0; i < digits.size(); ++i) {
        const bool between = i != 0 && digits[i - 1] != '-';
        if (between && (digits.size() - i) % 3 == 0) text += ',';
        text += digits[i];
    }
    return text;
}

std::string duration_text(double ns) {
    static constexpr Unit kUnits[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
    return scaled(ns, kUnits);
}

std::string bytes_text(double bytes) {
    static constexpr Unit kUnits[] = {{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1}};
    return scaled(bytes, kUnits);
}

std::string memory_text(double bytes) {
    static constexpr Unit kUnits[] = {
        {"TiB", 0x1p40}, {"GiB", 0x1p30}, {"MiB", 0x1p20}, {"KiB", 0x1p10}, {"B", 1}};
    return scaled(bytes, kUnits);
}

std::string rate_text(double bytes_per_s) { return bytes_text(bytes_per_s) + "/s"; }

std::string time_text(int64_t real_ns) {
    const time_t seconds = real_ns / 1'000'000'000;
    tm parts;
    char text[48];
    gmtime_r(&seconds, &parts);
    return std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts) != 0 ? text : "";
}

}  // namespace gpushim::analysis
