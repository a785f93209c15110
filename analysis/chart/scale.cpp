#include "scale.h"

#include <algorithm>
#include <cmath>

namespace gpushim::analysis {

namespace {

constexpr double kRoom = 0.04;  // of the range, at an end that is not 0

double position(double value, bool logarithmic) {
    return logarithmic ? std::log10(std::max(value, 1e-300)) : value;
}

// 1, 2 or 5 times a power of ten, or a power of two, so that there are about so many.
double round_step(double range, size_t about, bool binary) {
    const double least = range / static_cast<double>(std::max<size_t>(about, 1));
    if (binary) return std::exp2(std::ceil(std::log2(least) - 1e-9));
    const double power = std::pow(10, std::floor(std::log10(least)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (factor * power >= least * 0.999) return factor * power;
    return 10 * power;
}

// Powers of ten, and between few of them 2 and 5 times these.
std::vector<double> decades(double low, double high, size_t about) {
    if (!(low > 0)) return {};  // a damaged file's: there is no power below
    const int first = static_cast<int>(std::floor(std::log10(low)));
    const int last = static_cast<int>(std::floor(std::log10(high)));
    const auto powers = static_cast<size_t>(last - first + 1);
    const bool is_short = 3 * powers <= 2 * about;
    const int every = std::max(1, static_cast<int>(powers / std::max<size_t>(about, 1)));
    std::vector<double> all;
    for (int power = first; power <= last; power += every)
        for (const double factor : {1.0, 2.0, 5.0}) {
            const double value = factor * std::pow(10, power);
            if ((factor == 1 || is_short) && value >= low && value <= high) all.push_back(value);
        }
    return all;
}

}  // namespace

void Extent::take(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
}

double Scale::place(double value) const {
    const double from = position(low, logarithmic), to = position(high, logarithmic);
    const double at = std::clamp((position(value, logarithmic) - from) / (to - from), 0.0, 1.0);
    return begin + at * (end - begin);
}

std::vector<double> Scale::marks(size_t about) const {
    if (logarithmic)
        if (std::vector<double> all = decades(low, high, about); all.size() >= 3) return all;
    std::vector<double> all;
    const double least = whole ? 1 : 0, step = std::max(least, round_step(high - low, about, binary));
    for (double nth = std::ceil(low / step - 1e-9); nth * step <= high + step * 1e-9; ++nth)
        all.push_back(nth * step + 0.0);  // no -0
    return all;
}

Scale scale_of(Extent values, double begin, double end, bool with_zero, bool logarithmic) {
    if (logarithmic) {
        const bool any = !values.is_empty() && values.high > 0;
        const double high = any ? values.high : 10, low = any && values.low > 0 ? values.low : high / 10;
        return {low / 1.3, high * 1.3, begin, end, true};
    }
    if (values.is_empty()) values = {0, 1};
    if (with_zero) {
        values.take(0);
        values.take(values.low == 0 && values.high == 0 ? 1 : 0);
    }
    const double range = values.high - values.low;
    const double room = range > 0 ? kRoom * range : std::max(std::fabs(values.low) * kRoom, 1e-9);
    const auto ends_there = [range](double value) { return value == 0 && range > 0; };
    return {ends_there(values.low) ? 0 : values.low - room, ends_there(values.high) ? 0 : values.high + room,
            begin, end};
}

}  // namespace gpushim::analysis
