#include "decimal.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace gpushim::analysis {

namespace {

constexpr int kMostDigits = 19;       // what fits into uint64_t, whatever the digits are
constexpr int kFarExponent = 10'000;  // a longer one is this one: both are beyond everything

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// digits · 10^exponent, and the first digit that found no room behind them
struct Digits {
    uint64_t digits = 0;
    int count = 0, exponent = 0, next = -1;
    bool any = false;

    void add(char c, bool behind_point) {
        any = true;
        const int digit = c - '0';
        if (count < kMostDigits) {
            digits = digits * 10 + static_cast<uint64_t>(digit);
            if (digits > 0) ++count;
            if (behind_point) --exponent;
            return;
        }
        if (next < 0) next = digit;
        if (!behind_point && exponent < kFarExponent) ++exponent;
    }
};

std::optional<int> read_exponent(std::string_view text) {
    const bool negative = !text.empty() && text[0] == '-';
    if (negative || (!text.empty() && text[0] == '+')) text.remove_prefix(1);
    if (text.empty()) return {};
    int value = 0;
    for (const char c : text) {
        if (!is_digit(c)) return {};
        if (value < kFarExponent) value = value * 10 + (c - '0');
    }
    return negative ? -value : value;
}

std::optional<Digits> read_digits(std::string_view text) {
    Digits read;
    bool behind_point = false;
    for (size_t i = 0; i < text.size(); ++i) {
        if (is_digit(text[i])) {
            read.add(text[i], behind_point);
        } else if (text[i] == '.' && !behind_point) {
            behind_point = true;
        } else if ((text[i] == 'e' || text[i] == 'E') && read.any) {
            const auto exponent = read_exponent(text.substr(i + 1));
            if (!exponent) return {};
            read.exponent += *exponent;
            return read;
        } else {
            return {};
        }
    }
    return read.any ? std::optional(read) : std::nullopt;
}

// Half and more goes up, so digits behind the first that is cut off cannot matter.
std::optional<uint64_t> shifted(const Digits& read, int shift) {
    uint64_t value = read.digits;
    int exponent = read.exponent + shift;
    if (value == 0) return 0;
    if (exponent < -kMostDigits) return 0;
    int cut_off = exponent <= 0 ? read.next : -1;
    for (; exponent < 0; ++exponent) {
        cut_off = static_cast<int>(value % 10);
        value /= 10;
    }
    for (; exponent > 0; --exponent)
        if (__builtin_mul_overflow(value, uint64_t{10}, &value)) return {};
    return value + (cut_off >= 5);
}

// What nearly all numbers are: few digits, perhaps a point, nothing to round. None: it is something else.
std::optional<int64_t> scaled_if_simple(std::string_view text, int shift) {
    uint64_t value = 0;
    size_t at = 0;
    const auto read = [&] {
        const size_t begin = at;
        for (; at < text.size() && is_digit(text[at]); ++at)
            value = value * 10 + static_cast<uint64_t>(text[at] - '0');
        return static_cast<int>(at - begin);
    };
    const int before_point = read();
    if (at < text.size() && text[at] == '.') ++at;
    const int behind_point = at == text.size() ? 0 : read();
    const int zeros = shift - behind_point, digits = before_point + behind_point;
    if (at < text.size() || digits == 0 || zeros < 0 || digits + zeros > kMostDigits) return {};
    for (int i = 0; i < zeros; ++i) value *= 10;
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return {};
    return static_cast<int64_t>(value);
}

}  // namespace

std::optional<int64_t> scaled(std::string_view text, int shift) {
    if (const auto simple = scaled_if_simple(text, shift)) return simple;
    const bool negative = !text.empty() && text[0] == '-';
    if (negative) text.remove_prefix(1);
    const auto read = read_digits(text);
    if (!read) return {};
    const auto value = shifted(*read, shift);
    if (!value || *value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return {};
    return negative ? -static_cast<int64_t>(*value) : static_cast<int64_t>(*value);
}

std::optional<double> real(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return {};
    return value;
}

}  // namespace gpushim::analysis
