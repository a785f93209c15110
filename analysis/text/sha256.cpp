#include "sha256.h"

#include <array>
#include <bit>
#include <cstdint>

namespace gpushim::analysis {

namespace {

constexpr std::array<uint32_t, 64> kRounds = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using State = std::array<uint32_t, 8>;

std::array<uint32_t, 64> schedule_of(std::string_view block) {
    std::array<uint32_t, 64> words{};
    for (size_t i = 0; i < 64; ++i) words[i / 4] = words[i / 4] << 8 | static_cast<uint8_t>(block[i]);
    for (size_t i = 16; i < 64; ++i) {
        const uint32_t near = words[i - 2], far = words[i - 15];
        words[i] = words[i - 16] + (std::rotr(far, 7) ^ std::rotr(far, 18) ^ far >> 3) + words[i - 7] +
                   (std::rotr(near, 17) ^ std::rotr(near, 19) ^ near >> 10);
    }
    return words;
}

void take(State& state, std::string_view block) {
    const std::array<uint32_t, 64> words = schedule_of(block);
    auto [a, b, c, d, e, f, g, h] = state;
    for (size_t i = 0; i < 64; ++i) {
        const uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                               ((e & f) ^ (~e & g)) + kRounds[i] + words[i];
        const uint32_t second =
            (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
    }
    const State done = {a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < state.size(); ++i) state[i] += done[i];
}

std::string big_endian(uint64_t value, size_t bytes) {
    std::string text;
    for (size_t i = bytes; i-- > 0;) text += static_cast<char>(value >> (8 * i) & 0xff);
    return text;
}

}  // namespace

std::string sha256(std::string_view bytes) {
    std::string padded(bytes);
    padded += '\x80';
    while (padded.size() % 64 != 56) padded += '\0';
    padded += big_endian(uint64_t{bytes.size()} * 8, 8);
    State state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    for (size_t at = 0; at < padded.size(); at += 64) take(state, std::string_view(padded).substr(at, 64));
    std::string digest;
    for (const uint32_t word : state) digest += big_endian(word, 4);
    return digest;
}

std::string base64(std::string_view bytes) {
    constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (size_t at = 0; at < bytes.size(); at += 3) {
        uint32_t three = 0;
        for (size_t i = 0; i < 3; ++i)
            three = three << 8 | (at + i < bytes.size() ? static_cast<uint8_t>(bytes[at + i]) : 0u);
        for (size_t i = 0; i < 4; ++i)
            text += at + i <= bytes.size() ? kDigits[three >> (18 - 6 * i) & 63] : '=';
    }
    return text;
}

}  // namespace gpushim::analysis
