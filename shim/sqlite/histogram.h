// How long things took: how many lie in each of four buckets per octave, so that two histograms become one by
// adding. Nothing is rounded but the value itself: a bucket's width is a quarter of its octave's begin.
//
//   bucket     0 1 2 3  4 5 6 7  8  9  10  11  12 …
//   ns from    0 1 2 3  4 5 6 7  8 10  12  14  16 …
//
// As bytes (schema/README.md): for each bucket that is not empty, in order, its number and its count as a
// base-128 number, low bits first. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gpushim::shim {

constexpr uint8_t bucket_of(int64_t ns) {
    if (ns < 4) return static_cast<uint8_t>(ns < 0 ? 0 : ns);
    const int octave = 63 - __builtin_clzll(static_cast<uint64_t>(ns));
    return static_cast<uint8_t>(4 * (octave - 1) + (ns >> (octave - 2) & 3));
}

class Histogram {
  public:
    void add(int64_t ns, uint64_t times) { add_to(bucket_of(ns), times); }
    // What damaged bytes say up to the damage.
    void add(std::span<const uint8_t> bytes);

    bool is_empty() const { return buckets_.empty(); }
    void clear() { buckets_.clear(); }
    // Valid until the next call.
    std::span<const uint8_t> bytes();

  private:
    struct Bucket {
        uint8_t number;
        uint64_t count;
    };
    void add_to(uint8_t number, uint64_t times);

    std::vector<Bucket> buckets_;  // in order; few
    size_t last_ = 0;              // calls alike take about as long
    std::vector<uint8_t> bytes_;
};

}  // namespace gpushim::shim
