#include "new_record.h"

#include <algorithm>

namespace gpushim::analysis {

size_t put_varint(char* to, uint64_t value) {
    if (value < 0x80) return to[0] = static_cast<char>(value), 1;
    size_t bytes = 0;
    char reversed[kLongestVarint];
    const bool has_ninth = value >> 56 != 0;
    if (has_ninth) reversed[bytes++] = static_cast<char>(value), value >>= 8;
    for (; has_ninth ? bytes < kLongestVarint : value != 0; value >>= 7)
        reversed[bytes] = static_cast<char>((value & 0x7f) | (bytes == 0 ? 0 : 0x80)), ++bytes;
    std::reverse_copy(reversed, reversed + bytes, to);
    return bytes;
}

void NewRecord::add_bytes(std::string_view bytes, uint64_t kind) {
    char said[kLongestVarint];
    const size_t length = put_varint(said, kind);
    for (size_t i = 0; i < length; ++i) add_kind(said[i]);
    if (values_.size() - values_end_ < bytes.size()) values_.resize(2 * (values_.size() + bytes.size()));
    std::copy(bytes.begin(), bytes.end(), &values_[values_end_]);
    values_end_ += bytes.size();
}

std::string_view NewRecord::bytes() {
    // The header's length counts itself.
    const size_t kinds = header_end_ - kInFront, said = kinds + 1 < 0x80 ? 1 : 2, begin = kInFront - said;
    put_varint(&header_[begin], kinds + said);
    if (header_.size() - header_end_ < values_end_) header_.resize(2 * (header_end_ + values_end_));
    std::memcpy(&header_[header_end_], values_.data(), values_end_);
    return std::string_view(header_).substr(begin, said + kinds + values_end_);
}

}  // namespace gpushim::analysis
