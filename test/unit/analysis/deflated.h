// Bytes that zlib has packed, for tests of what unpacks them.
#pragma once

#include <zlib.h>

#include <catch2/catch.hpp>
#include <string>

namespace made {

struct Deflate {
    int level = Z_BEST_SPEED;
    int window_bits = 16 + MAX_WBITS;  // with gzip's head; below 0: with none
    int strategy = Z_DEFAULT_STRATEGY;
    bool with_sum_of_head = false;
};

inline std::string deflated(const std::string& text, const Deflate& as = {}) {
    z_stream z{};
    REQUIRE(deflateInit2(&z, as.level, Z_DEFLATED, as.window_bits, 8, as.strategy) == Z_OK);
    gz_header head{};
    head.hcrc = 1;
    if (as.with_sum_of_head) REQUIRE(deflateSetHeader(&z, &head) == Z_OK);
    std::string bytes(deflateBound(&z, text.size()) + 64, '\0');
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    z.avail_in = static_cast<uInt>(text.size());
    z.next_out = reinterpret_cast<Bytef*>(bytes.data());
    z.avail_out = static_cast<uInt>(bytes.size());
    REQUIRE(deflate(&z, Z_FINISH) == Z_STREAM_END);
    bytes.resize(bytes.size() - z.avail_out);
    deflateEnd(&z);
    return bytes;
}

}  // namespace made
