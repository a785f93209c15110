// A row as it stands in the file of a database (https://www.sqlite.org/fileformat2.html): value by value, as
// many as the table has columns. One thread.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace gpushim::analysis {

constexpr size_t kLongestVarint = 9;
size_t put_varint(char* to, uint64_t value);  // how many bytes

class NewRecord {
  public:
    NewRecord() : header_(kInFront + 64, '\0'), values_(256, '\0') {}
    void clear() {
        header_end_ = kInFront;
        values_end_ = 0;
    }
    void add_null() { add_kind(0); }  // the place of a table's key has one, too
    void add(int64_t number) {
        if (number == 0 || number == 1) return add_kind(static_cast<char>(8 + number));
        const auto bits = static_cast<uint64_t>(number);
        // With its sign.
        const int width = 65 - std::countl_zero(number < 0 ? ~bits : bits);
        const Length length = kLengths[(width + 7) / 8];
        add_kind(length.kind);
        put_first(bits << (64 - 8 * length.bytes), static_cast<size_t>(length.bytes));
    }
    void add_real(double real) {
        add_kind(7);
        put_first(std::bit_cast<uint64_t>(real), sizeof real);
    }
    void add(std::string_view text) { add_bytes(text, 13 + 2 * text.size()); }
    void add_blob(std::string_view bytes) { add_bytes(bytes, 12 + 2 * bytes.size()); }
    std::string_view bytes();  // until the next one is made

  private:
    static constexpr size_t kInFront = 2;  // for the length of a header of up to 16 KiB
    struct Length {
        char kind;
        int bytes;
    };
    static constexpr Length kLengths[] = {{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4},  // by the bytes it needs
                                          {5, 6}, {5, 6}, {6, 8}, {6, 8}};

    void add_kind(char kind) {
        if (header_end_ == header_.size()) header_.resize(2 * header_end_);
        header_[header_end_++] = kind;
    }
    // The first bytes of the number, highest ones first.
    void put_first(uint64_t number, size_t bytes) {
        if (values_.size() - values_end_ < sizeof number) values_.resize(2 * values_.size());
        if constexpr (std::endian::native == std::endian::little) number = __builtin_bswap64(number);
        std::memcpy(&values_[values_end_], &number, sizeof number);
        values_end_ += bytes;
    }
    void add_bytes(std::string_view bytes, uint64_t kind);

    std::string header_, values_;  // both with room behind their ends
    size_t header_end_ = kInFront, values_end_ = 0;
};

}  // namespace gpushim::analysis
