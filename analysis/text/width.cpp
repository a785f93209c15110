#include "width.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace gpushim::analysis {

namespace {

struct Range {
    uint32_t first, last;
    size_t columns;
};

// By number. Scripts that terminals draw differently are left out: one column each.
constexpr Range kRanges[] = {
    {0x0300, 0x036F, 0},   {0x0483, 0x0489, 0},   {0x0591, 0x05BD, 0},   {0x064B, 0x065F, 0},
    {0x0E34, 0x0E3A, 0},   {0x0E47, 0x0E4E, 0},   {0x1100, 0x115F, 2},   {0x1AB0, 0x1AFF, 0},
    {0x1DC0, 0x1DFF, 0},   {0x200B, 0x200F, 0},   {0x2060, 0x2064, 0},   {0x20D0, 0x20F0, 0},
    {0x231A, 0x231B, 2},   {0x2E80, 0x303E, 2},   {0x3041, 0x3098, 2},   {0x3099, 0x309A, 0},
    {0x309B, 0x4DBF, 2},   {0x4E00, 0xA4CF, 2},   {0xA960, 0xA97F, 2},   {0xAC00, 0xD7A3, 2},
    {0xF900, 0xFAFF, 2},   {0xFE00, 0xFE0F, 0},   {0xFE10, 0xFE19, 2},   {0xFE20, 0xFE2F, 0},
    {0xFE30, 0xFE6F, 2},   {0xFEFF, 0xFEFF, 0},   {0xFF00, 0xFF60, 2},   {0xFFE0, 0xFFE6, 2},
    {0x1F300, 0x1F64F, 2}, {0x1F680, 0x1F6FF, 2}, {0x1F900, 0x1F9FF, 2}, {0x20000, 0x3FFFD, 2},
    {0xE0100, 0xE01EF, 0},
};

size_t columns_of(uint32_t code) {
    const Range* const range = std::lower_bound(std::begin(kRanges), std::end(kRanges), code,
                                                [](const Range& a, uint32_t b) { return a.last < b; });
    return range != std::end(kRanges) && range->first <= code ? range->columns : 1;
}

bool continues(char byte) { return (byte & 0xC0) == 0x80; }

struct Character {
    size_t bytes, columns;
};

// At the start of well-formed UTF-8.
Character first_of(std::string_view text) {
    const auto first = static_cast<uint8_t>(text[0]);
    if (first < 0x80) return {1, 1};
    uint32_t code = first & (first < 0xE0 ? 31u : first < 0xF0 ? 15u : 7u);
    size_t bytes = 1;
    for (; bytes < text.size() && continues(text[bytes]); ++bytes)
        code = code << 6 | (static_cast<uint8_t>(text[bytes]) & 63u);
    return {bytes, columns_of(code)};
}

}  // namespace

size_t width_of(std::string_view text) {
    // Nearly all are ASCII, and tables ask of every cell.
    if (std::none_of(text.begin(), text.end(), [](char c) { return (c & 0x80) != 0; })) return text.size();
    size_t columns = 0;
    while (!text.empty()) {
        const Character one = first_of(text);
        columns += one.columns;
        text.remove_prefix(one.bytes);
    }
    return columns;
}

size_t bytes_within(std::string_view text, size_t columns) {
    size_t bytes = 0, width = 0;
    while (bytes < text.size()) {
        const Character one = first_of(text.substr(bytes));
        if ((width += one.columns) > columns) break;
        bytes += one.bytes;
    }
    return bytes;
}

std::string shortened(std::string text, size_t most) {
    if (width_of(text) <= most) return text;
    return text.substr(0, bytes_within(text, most - 1)) + "…";
}

std::string cut_in_the_middle(const std::string& text, size_t most) {
    const size_t width = width_of(text);
    if (width <= most) return text;
    const std::string head = text.substr(0, bytes_within(text, most / 2));
    // As many columns go as there are too many, and one more for what stands there instead.
    const size_t goes = width - most + 1;
    return head + "…" + text.substr(bytes_within(text, width_of(head) + goes));
}

std::string padded(std::string text, size_t columns) {
    const size_t is = width_of(text);
    return is < columns ? text + std::string(columns - is, ' ') : text;
}

}  // namespace gpushim::analysis
