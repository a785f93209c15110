// What deflate has packed (RFC 1951), unpacked piece by piece, from any piece of the input to any piece of
// the output: quicker than zlib, because a text of this kind is mostly long repetitions, and these are
// copied 64 bytes at once. What is damaged is told in zlib's words. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gpushim::analysis {

class Inflater {
  public:
    enum class Result : uint8_t {
        hungry,    // it goes on behind the input: more is wanted, behind what is left
        full,      // there is no more room for output
        ended,     // what follows is no part of it
        damaged,   // why() says how
        going_on,  // never told
    };

    void begin();  // before the first byte
    // Takes from the front of `in` and writes to the front of `out`: both are what is left then.
    Result run(std::span<const uint8_t>& in, std::span<uint8_t>& out);
    const char* why() const { return why_; }

    static constexpr size_t kSymbols = 288, kDistances = 32;
    // Of a code: what it means, and how long it is. Of the first bits of longer ones: where these are.
    struct Code {
        enum Kind : uint8_t { invalid, literal, number, end, longer };
        uint16_t value = 0;     // a byte; the least length or distance; a place in the table
        uint8_t bits = 0;       // of a longer one, those behind the first
        uint8_t extra : 4 = 0;  // bits behind the code, to be added to the value
        Kind kind : 4 = invalid;
    };

  private:
    static constexpr size_t kHistory = 32 << 10;  // bytes: the longest distance
    static constexpr unsigned kMainBits = 10, kLongest = 15;

    struct Codes {
        std::array<Code, (1 << kMainBits) + (kSymbols / 2 << (kLongest - kMainBits))> table;
        Code at(uint64_t bits) const;  // that they begin with
        // False: not each text of bits begins with one of the codes.
        bool make(std::span<const uint8_t> lengths, const Code* meanings, bool may_be_one);
    };
    enum class At : uint8_t { block, stored_size, stored, code_sizes, code_lengths, lengths, symbols };
    struct Bits {  // that were taken from the input, the next one lowest
        uint64_t bits = 0;
        unsigned count = 0;
        unsigned drop(unsigned first) {
            const auto dropped = static_cast<unsigned>(bits & ((uint64_t{1} << first) - 1));
            bits >>= first;
            count -= first;
            return dropped;
        }
    };
    struct Match {  // what is still to be copied
        size_t length = 0, distance = 0;
    };
    struct Io;

    Result step(Io& io);
    Result read_block(Io& io);
    Result read_stored_size(Io& io);
    Result copy_stored(Io& io);
    Result read_code_sizes(Io& io);
    Result read_code_lengths(Io& io);
    Result read_lengths(Io& io);
    Result read_symbols(Io& io);
    bool copy_match(Io& io) const;
    Result read_until_end_of_block(Io& io);
    void set_fixed_codes();
    Result damaged(const char* why);
    void remember(std::span<const uint8_t> written);

    At at_ = At::block;
    bool is_last_ = false;
    const char* why_ = "";
    Bits bits_;
    Match match_;
    size_t stored_left_ = 0;
    size_t length_codes_ = 0, distance_codes_ = 0, code_lengths_ = 0, have_ = 0;
    std::array<uint8_t, kSymbols + kDistances> lengths_{};
    Codes symbols_, distances_;
    std::array<uint8_t, kHistory> history_;  // its end is what was written last
    size_t remembered_ = 0;                  // of it
};

}  // namespace gpushim::analysis
