#include "lines.h"

namespace gpushim::shim {
namespace {

using Table = std::span<const unsigned char>;

// Steps: so many bytes of instructions further on, so many lines.
int64_t line_by_steps(Table table, int64_t line, int64_t at) {
    int64_t begin = 0;
    for (size_t i = 0; i + 1 < table.size(); i += 2) {
        begin += table[i];
        if (begin > at) break;
        line += static_cast<signed char>(table[i + 1]);
    }
    return line;
}

// Spans: so many bytes of instructions, on a line that is so many further on; -128: on none.
int64_t line_by_spans(Table table, int64_t line, int64_t at) {
    constexpr signed char kOnNone = -128;
    int64_t end = 0;
    for (size_t i = 0; i + 1 < table.size(); i += 2) {
        const auto further = static_cast<signed char>(table[i + 1]);
        end += table[i];
        if (further != kOnNone) line += further;
        if (at < end) return further == kOnNone ? kNoLine : line;
    }
    return kNoLine;
}

// Entries of a byte (highest bit, four bits of kind, three of length - 1) and others without the highest bit.
// Numbers have six bits to a byte, low ones first; bit 6 says that another byte follows.
class Entries {
  public:
    explicit Entries(Table table) : table_(table) {}
    bool next() {
        while (at_ < table_.size() && (table_[at_] & 0x80) == 0) ++at_;
        if (at_ >= table_.size()) return false;
        head_ = table_[at_++];
        return true;
    }
    int kind() const { return head_ >> 3 & 15; }
    int units() const { return (head_ & 7) + 1; }
    int64_t signed_number() {
        uint64_t value = 0;
        int shift = 0;
        for (; at_ < table_.size() && shift < 60; shift += 6) {
            const unsigned char byte = table_[at_++];
            value |= uint64_t{byte & 63u} << shift;
            if ((byte & 64) == 0) break;
        }
        const auto half = static_cast<int64_t>(value >> 1);
        return (value & 1) != 0 ? -half : half;
    }

  private:
    Table table_;
    size_t at_ = 0;
    unsigned char head_ = 0;
};

int64_t line_by_entries(Table table, int64_t line, int64_t at) {
    constexpr int kFirstOneLine = 10, kNoColumns = 13, kLong = 14, kNothing = 15, kUnitBytes = 2;
    Entries entries(table);
    for (int64_t end = 0; entries.next();) {
        const int kind = entries.kind();
        if (kind == kNoColumns || kind == kLong)
            line += entries.signed_number();
        else if (kind >= kFirstOneLine && kind < kNoColumns)
            line += kind - kFirstOneLine;
        end += entries.units() * kUnitBytes;
        if (at < end) return kind == kNothing ? kNoLine : line;
    }
    return kNoLine;
}

}  // namespace

int64_t line_of(int minor, Table table, int64_t first_line, int64_t at) {
    if (at < 0) return first_line;  // nothing of it has run yet
    if (minor <= 9) return line_by_steps(table, first_line, at);
    if (minor == 10) return line_by_spans(table, first_line, at);
    return line_by_entries(table, first_line, at);
}

}  // namespace gpushim::shim
