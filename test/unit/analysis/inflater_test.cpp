// What deflate has packed is unpacked as zlib does it, from pieces and to pieces of any size; and of what is
// damaged the same is told as by zlib.
#include "analysis/importer/kineto/inflater.h"

#include <zlib.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "deflated.h"

namespace inflater_test {

using namespace gpushim::analysis;

namespace {

using Random = std::mt19937_64;

std::string packed(const std::string& text, int level, int strategy) {
    return made::deflated(text, {.level = level, .window_bits = -MAX_WBITS, .strategy = strategy});
}

// Bytes, what repeats itself near and far, and text like a trace's.
std::string made_text(Random& random, size_t bytes) {
    std::string text;
    const uint64_t kind = random() % 5;
    while (text.size() < bytes) {
        const size_t distance = 1 + random() % std::clamp<size_t>(text.size(), 1, 32 << 10);
        if (kind == 0)
            text += static_cast<char>(random());
        else if (kind == 1)
            text += "abc";
        else if (kind == 2)
            text += std::string(random() % 300, static_cast<char>('a' + random() % 3));
        else if (kind == 3)
            text += "{\"ph\": \"X\", \"ts\": " + std::to_string(random() % 10'000'000) + "}";
        else if (text.size() > distance && random() % 3 != 0)
            for (uint64_t left = 3 + random() % 256; left > 0; --left) text += text[text.size() - distance];
        else
            text += static_cast<char>(random() % (1 + random() % 256));
    }
    return text;
}

struct Unpacked {
    std::string text, end;  // "ended", "breaks off", or what is wrong
    size_t used = 0;
    bool operator==(const Unpacked&) const = default;
};

Unpacked by_zlib(const std::string& bytes) {
    z_stream z{};
    REQUIRE(inflateInit2(&z, -MAX_WBITS) == Z_OK);
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    z.avail_in = static_cast<uInt>(bytes.size());
    Unpacked all;
    std::vector<char> piece(5000);
    int result = Z_OK;
    while (result == Z_OK) {
        z.next_out = reinterpret_cast<Bytef*>(piece.data());
        z.avail_out = static_cast<uInt>(piece.size());
        result = inflate(&z, Z_NO_FLUSH);
        all.text.append(piece.data(), piece.size() - z.avail_out);
    }
    all.end = result == Z_STREAM_END ? "ended" : result == Z_BUF_ERROR ? "breaks off" : z.msg;
    all.used = bytes.size() - z.avail_in;
    inflateEnd(&z);
    return all;
}

Unpacked by_pieces(Inflater& inflater, const std::string& bytes, size_t in_piece, size_t out_piece) {
    inflater.begin();
    Unpacked all;
    std::vector<uint8_t> piece(out_piece);
    size_t given = 0;
    for (;;) {
        std::span<const uint8_t> in(reinterpret_cast<const uint8_t*>(bytes.data()) + all.used,
                                    given - all.used);
        std::span<uint8_t> out(piece);
        const Inflater::Result result = inflater.run(in, out);
        all.used = given - in.size();
        all.text.append(reinterpret_cast<const char*>(piece.data()), out_piece - out.size());
        if (result == Inflater::Result::ended) all.end = "ended";
        if (result == Inflater::Result::damaged) all.end = inflater.why();
        if (result == Inflater::Result::hungry && given == bytes.size()) {
            all.end = "breaks off";
            all.used = given;
        }
        if (!all.end.empty()) return all;
        if (result == Inflater::Result::hungry) given = std::min(given + in_piece, bytes.size());
    }
}

}  // namespace

TEST_CASE("what is packed is unpacked, from any pieces to any pieces", "[inflater][random]") {
    Random random(1);
    Inflater inflater;
    for (int round = 0; round < 400; ++round) {
        const std::string text = made_text(random, random() % (round % 20 == 0 ? 200'000 : 3000));
        const int strategy = std::vector<int>{0, 0, Z_FIXED, Z_HUFFMAN_ONLY, Z_RLE}[random() % 5];
        const std::string bytes = packed(text, static_cast<int>(random() % 10), strategy) + "behind";
        const size_t from = text.size() > 10'000 ? 1000 : 0;
        const size_t in_piece = from + 1 + random() % 50, out_piece = from + 1 + random() % 5000;
        INFO(round);
        CHECK(by_pieces(inflater, bytes, in_piece, out_piece) == Unpacked{text, "ended", bytes.size() - 6});
    }
}

TEST_CASE("of damage the same is told as by zlib", "[inflater][random]") {
    Random random(2);
    Inflater inflater;
    int damaged = 0;
    for (int round = 0; round < 4000; ++round) {
        const int strategy = random() % 4 == 0 ? Z_FIXED : Z_DEFAULT_STRATEGY;
        std::string bytes = packed(made_text(random, random() % 3000), 6, strategy);
        const size_t first = random() % 2 == 0 ? bytes.size() : std::min<size_t>(bytes.size(), 60);
        char& one = bytes[random() % first];
        one = static_cast<char>(one ^ 1 << random() % 8);
        if (random() % 4 == 0) bytes.resize(random() % bytes.size());
        const Unpacked expected = by_zlib(bytes);
        const Unpacked found = by_pieces(inflater, bytes, 1 + random() % 50, 1 + random() % 3000);
        INFO(round << " " << expected.end);
        CHECK(found.end == expected.end);
        CHECK(found.text == expected.text);
        // Of the symbol in which it ends zlib may have taken a byte more.
        CHECK(std::max(found.used, expected.used) - std::min(found.used, expected.used) <= 1);
        damaged += expected.end != "ended" && expected.end != "breaks off";
    }
    CHECK(damaged > 500);
}

TEST_CASE("any bytes end, or are damaged", "[inflater][random]") {
    Random random(3);
    Inflater inflater;
    for (int round = 0; round < 2000; ++round) {
        std::string bytes(random() % 300, '\0');
        for (char& byte : bytes) byte = static_cast<char>(random());
        CHECK(by_pieces(inflater, bytes, 7, 1000).end == by_zlib(bytes).end);
    }
}

}  // namespace inflater_test
