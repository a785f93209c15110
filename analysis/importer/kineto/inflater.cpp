#include "inflater.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

namespace gpushim::analysis {

struct Inflater::Io {
    const uint8_t *in, *in_end;
    uint8_t *begin, *out, *out_end;
    Bits bits;
    Match match;

    size_t room() const { return static_cast<size_t>(out_end - out); }
    unsigned drop(unsigned count) { return bits.drop(count); }

    // As many bits as there is room for. Those that lie behind their count are what comes next.
    void take_bits() {
        static_assert(std::endian::native == std::endian::little);
        if (in_end - in >= static_cast<std::ptrdiff_t>(sizeof bits.bits)) {
            uint64_t more = 0;
            std::memcpy(&more, in, sizeof more);
            bits.bits |= more << bits.count;
            const unsigned bytes = (63 - bits.count) / 8;
            in += bytes;
            bits.count += 8 * bytes;
        } else {
            for (; bits.count < 56 && in < in_end; bits.count += 8)
                bits.bits |= uint64_t{*in++} << bits.count;
        }
    }
    void give_back_bytes() {
        in -= bits.count / 8;
        bits.count %= 8;
        bits.bits &= (uint64_t{1} << bits.count) - 1;
    }
};

namespace {

using Meaning = Inflater::Code;

constexpr size_t kBytes = 256, kLengths = 29, kRealDistances = 30, kCodeLengths = 19;

// What the numbers of symbols mean: bytes, the end of a block, and lengths of repetitions.
constexpr auto kSymbolMeanings = [] {
    std::array<Meaning, Inflater::kSymbols> meanings{};
    for (size_t byte = 0; byte < kBytes; ++byte)
        meanings[byte] = {static_cast<uint16_t>(byte), 0, 0, Meaning::literal};
    meanings[kBytes] = {0, 0, 0, Meaning::end};
    uint16_t length = 3;
    for (size_t i = 0; i + 1 < kLengths; ++i) {
        const auto extra = static_cast<uint8_t>(i < 8 ? 0 : i / 4 - 1);
        meanings[kBytes + 1 + i] = {length, 0, static_cast<uint8_t>(extra & 15), Meaning::number};
        length = static_cast<uint16_t>(length + (1 << extra));
    }
    meanings[kBytes + kLengths] = {258, 0, 0, Meaning::number};
    return meanings;
}();

constexpr auto kDistanceMeanings = [] {
    std::array<Meaning, Inflater::kDistances> meanings{};
    uint16_t distance = 1;
    for (size_t i = 0; i < kRealDistances; ++i) {
        const auto extra = static_cast<uint8_t>(i < 4 ? 0 : i / 2 - 1);
        meanings[i] = {distance, 0, static_cast<uint8_t>(extra & 15), Meaning::number};
        distance = static_cast<uint16_t>(distance + (1 << extra));
    }
    return meanings;
}();

constexpr auto kLengthMeanings = [] {
    std::array<Meaning, kCodeLengths> meanings{};
    for (size_t i = 0; i < kCodeLengths; ++i) meanings[i] = {static_cast<uint16_t>(i), 0, 0, Meaning::number};
    return meanings;
}();

unsigned reversed(unsigned code, unsigned bits) {
    unsigned other = 0;
    for (; bits > 0; --bits, code >>= 1) other = other << 1 | (code & 1);
    return other;
}

}  // namespace

bool Inflater::Codes::make(std::span<const uint8_t> lengths, const Code* meanings, bool may_be_one) {
    std::array<unsigned, kLongest + 1> count{}, next{};
    for (const uint8_t length : lengths) ++count[length];
    count[0] = 0;
    unsigned longest = kLongest;
    while (longest > 0 && count[longest] == 0) --longest;
    int left = 1;  // of all texts of so many bits, those that begin with no code
    for (unsigned bits = 1; bits <= kLongest; ++bits) {
        left = 2 * left - static_cast<int>(count[bits]);
        if (left < 0) return false;
        next[bits] = (next[bits - 1] + count[bits - 1]) << 1;
    }
    if (left > 0 && longest > 0 && !(may_be_one && longest == 1)) return false;
    std::fill_n(table.begin(), size_t{1} << kMainBits, Code{0, 1, 0, Code::invalid});
    size_t used = size_t{1} << kMainBits;
    for (size_t symbol = 0; symbol < lengths.size(); ++symbol) {
        const unsigned bits = lengths[symbol];
        if (bits == 0) continue;
        const unsigned code = reversed(next[bits]++, bits);
        size_t from = code, step = size_t{1} << bits, until = size_t{1} << kMainBits;
        if (bits > kMainBits) {
            Code& first = table[code & (until - 1)];
            const auto behind = static_cast<uint8_t>(longest - kMainBits);
            if (first.kind != Code::longer) {
                first = {static_cast<uint16_t>(used), behind, 0, Code::longer};
                used += size_t{1} << behind;
            }
            from = first.value + (code >> kMainBits);
            step >>= kMainBits;
            until = first.value + (size_t{1} << behind);
        }
        Code is = meanings[symbol];
        is.bits = static_cast<uint8_t>(bits);
        for (size_t place = from; place < until; place += step) table[place] = is;
    }
    return true;
}

void Inflater::begin() {
    at_ = At::block;
    is_last_ = false;
    bits_ = {};
    match_ = {};
    remembered_ = 0;
}

Inflater::Result Inflater::damaged(const char* why) {
    why_ = why;
    return Result::damaged;
}

Inflater::Result Inflater::run(std::span<const uint8_t>& in, std::span<uint8_t>& out) {
    Io io = {in.data(), in.data() + in.size(), out.data(), out.data(), out.data() + out.size(), bits_,
             match_};
    Result result = Result::going_on;
    while (result == Result::going_on) result = step(io);
    io.give_back_bytes();
    bits_ = io.bits;
    match_ = io.match;
    remember(std::span(io.begin, io.out));
    in = std::span(io.in, io.in_end);
    out = std::span(io.out, io.out_end);
    return result;
}

Inflater::Result Inflater::step(Io& io) {
    switch (at_) {
        case At::block:
            return read_block(io);
        case At::stored_size:
            return read_stored_size(io);
        case At::stored:
            return copy_stored(io);
        case At::code_sizes:
            return read_code_sizes(io);
        case At::code_lengths:
            return read_code_lengths(io);
        case At::lengths:
            return read_lengths(io);
        case At::symbols:
            return read_symbols(io);
    }
    return Result::damaged;
}

Inflater::Result Inflater::read_block(Io& io) {
    if (is_last_) {
        io.drop(io.bits.count % 8);
        return Result::ended;
    }
    io.take_bits();
    if (io.bits.count < 3) return Result::hungry;
    is_last_ = io.drop(1) != 0;
    switch (io.drop(2)) {
        case 0:
            io.drop(io.bits.count % 8);
            at_ = At::stored_size;
            return Result::going_on;
        case 1:
            set_fixed_codes();
            at_ = At::symbols;
            return Result::going_on;
        case 2:
            at_ = At::code_sizes;
            return Result::going_on;
        default:
            return damaged("invalid block type");
    }
}

void Inflater::set_fixed_codes() {
    auto length = lengths_.begin();
    for (const auto& [count, bits] : {std::pair{144, 8}, {112, 9}, {24, 7}, {8, 8}})
        length = std::fill_n(length, count, static_cast<uint8_t>(bits));
    std::fill_n(length, kDistances, uint8_t{5});
    const std::span<const uint8_t> lengths(lengths_);
    symbols_.make(lengths.first(kSymbols), kSymbolMeanings.data(), false);
    distances_.make(lengths.last(kDistances), kDistanceMeanings.data(), false);
}

Inflater::Result Inflater::read_stored_size(Io& io) {
    io.take_bits();
    if (io.bits.count < 32) return Result::hungry;
    stored_left_ = io.drop(16);
    if (stored_left_ != (io.drop(16) ^ 0xffff)) return damaged("invalid stored block lengths");
    io.give_back_bytes();
    at_ = At::stored;
    return Result::going_on;
}

Inflater::Result Inflater::copy_stored(Io& io) {
    const size_t count = std::min({stored_left_, io.room(), static_cast<size_t>(io.in_end - io.in)});
    std::copy_n(io.in, count, io.out);
    io.in += count;
    io.out += count;
    stored_left_ -= count;
    if (stored_left_ > 0) return io.in == io.in_end ? Result::hungry : Result::full;
    at_ = At::block;
    return Result::going_on;
}

Inflater::Result Inflater::read_code_sizes(Io& io) {
    io.take_bits();
    if (io.bits.count < 14) return Result::hungry;
    length_codes_ = 257 + io.drop(5);
    distance_codes_ = 1 + io.drop(5);
    code_lengths_ = 4 + io.drop(4);
    if (length_codes_ > kBytes + 1 + kLengths || distance_codes_ > kRealDistances)
        return damaged("too many length or distance symbols");
    have_ = 0;
    lengths_.fill(0);
    at_ = At::code_lengths;
    return Result::going_on;
}

Inflater::Result Inflater::read_code_lengths(Io& io) {
    constexpr uint8_t kOrder[kCodeLengths] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                              11, 4,  12, 3, 13, 2, 14, 1, 15};
    for (; have_ < code_lengths_; ++have_) {
        io.take_bits();
        if (io.bits.count < 3) return Result::hungry;
        lengths_[kOrder[have_]] = static_cast<uint8_t>(io.drop(3));
    }
    const std::span<const uint8_t> lengths(lengths_);
    if (!distances_.make(lengths.first(kCodeLengths), kLengthMeanings.data(), false))
        return damaged("invalid code lengths set");
    have_ = 0;
    at_ = At::lengths;
    return Result::going_on;
}

// How long the codes of symbols are: the lengths themselves are in a code.
Inflater::Result Inflater::read_lengths(Io& io) {
    const size_t all = length_codes_ + distance_codes_;
    while (have_ < all) {
        io.take_bits();
        const Code code = distances_.table[io.bits.bits & ((1 << kMainBits) - 1)];
        const unsigned repeats = code.value < 16 ? 0 : code.value - 15;  // 1: the last one; 2, 3: none
        const unsigned extra = repeats == 0 ? 0 : repeats == 1 ? 2 : repeats == 2 ? 3 : 7;
        if (code.bits + extra > io.bits.count) return Result::hungry;
        io.drop(code.bits);
        if (repeats == 0) {
            lengths_[have_++] = static_cast<uint8_t>(code.value);
            continue;
        }
        if (repeats == 1 && have_ == 0) return damaged("invalid bit length repeat");
        const uint8_t length = repeats == 1 ? lengths_[have_ - 1] : uint8_t{0};
        const size_t count = (repeats == 3 ? 11 : 3) + io.drop(extra);
        if (have_ + count > all) return damaged("invalid bit length repeat");
        std::fill_n(&lengths_[have_], count, length);
        have_ += count;
    }
    const auto lengths = std::span<const uint8_t>(lengths_).first(all);
    if (lengths[kBytes] == 0) return damaged("invalid code -- missing end-of-block");
    if (!symbols_.make(lengths.first(length_codes_), kSymbolMeanings.data(), true))
        return damaged("invalid literal/lengths set");
    if (!distances_.make(lengths.subspan(length_codes_), kDistanceMeanings.data(), true))
        return damaged("invalid distances set");
    at_ = At::symbols;
    return Result::going_on;
}

inline Inflater::Code Inflater::Codes::at(uint64_t bits) const {
    const Code code = table[bits & ((1 << kMainBits) - 1)];
    if (code.kind != Code::longer) return code;
    return table[code.value + (bits >> kMainBits & ((uint64_t{1} << code.bits) - 1))];
}

// A symbol is taken with all that belongs to it, at most 48 bits, or not at all. It works with a copy of what
// it reads and writes: the compiler keeps it in registers, because no byte that is written can be a part of
// it.
Inflater::Result Inflater::read_symbols(Io& of_run) {
    Io io = of_run;
    const Result result = read_until_end_of_block(io);
    of_run = io;
    return result;
}

[[gnu::always_inline]] inline Inflater::Result Inflater::read_until_end_of_block(Io& io) {
    while (io.match.length == 0 || copy_match(io)) {
        io.take_bits();
        const Code symbol = symbols_.at(io.bits.bits);
        const unsigned symbol_bits = symbol.bits + unsigned{symbol.extra};
        if (symbol_bits > io.bits.count) return Result::hungry;
        if (symbol.kind == Code::literal) {
            if (io.out == io.out_end) return Result::full;
            *io.out++ = static_cast<uint8_t>(symbol.value);
            io.drop(symbol.bits);
            continue;
        }
        if (symbol.kind == Code::number) {
            const Code distance = distances_.at(io.bits.bits >> symbol_bits);
            if (symbol_bits + distance.bits + distance.extra > io.bits.count) return Result::hungry;
            io.drop(symbol.bits);
            const size_t length = symbol.value + io.drop(symbol.extra);
            io.drop(distance.bits);
            if (distance.kind == Code::invalid) return damaged("invalid distance code");
            io.match.distance = distance.value + io.drop(distance.extra);
            if (io.match.distance > static_cast<size_t>(io.out - io.begin) + remembered_)
                return damaged("invalid distance too far back");
            io.match.length = length;
            continue;
        }
        io.drop(symbol.bits);
        if (symbol.kind == Code::invalid) return damaged("invalid literal/length code");
        at_ = At::block;
        return Result::going_on;
    }
    return Result::full;
}

// False: there is no more room. Bytes of a repetition that overlaps itself are written before they are read.
[[gnu::always_inline]] inline bool Inflater::copy_match(Io& io) const {
    constexpr size_t kAtOnce = 64;
    while (io.match.length > 0 && io.out < io.out_end) {
        const auto written = static_cast<size_t>(io.out - io.begin);
        size_t count = std::min(io.match.length, io.room());
        if (io.match.distance > written) {
            const size_t back = io.match.distance - written;
            count = std::min(count, back);
            std::copy_n(history_.end() - static_cast<std::ptrdiff_t>(back), count, io.out);
        } else {
            const uint8_t* const from = io.out - io.match.distance;
            if (io.match.distance >= kAtOnce && io.room() >= count + kAtOnce)
                for (size_t i = 0; i < count; i += kAtOnce) std::memcpy(io.out + i, from + i, kAtOnce);
            else
                for (size_t i = 0; i < count; ++i) io.out[i] = from[i];
        }
        io.out += count;
        io.match.length -= count;
    }
    return io.match.length == 0;
}

void Inflater::remember(std::span<const uint8_t> written) {
    const auto last = written.last(std::min(written.size(), kHistory));
    std::copy(history_.begin() + static_cast<std::ptrdiff_t>(last.size()), history_.end(), history_.begin());
    std::copy(last.begin(), last.end(), history_.end() - static_cast<std::ptrdiff_t>(last.size()));
    remembered_ = std::min(kHistory, remembered_ + last.size());
}

}  // namespace gpushim::analysis
