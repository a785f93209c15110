// How often each value came, in buckets of a 16th of a power of two: exact below 32, else within a 16th. Two
// of them add up, and percentiles come with the range that they lie in. Values below 0 have buckets of their
// own. Memory is that of the buckets between the smallest and the largest value. One thread.
//
//   value     0 1 … 31   32 33   34 35   …   64 … 67   …
//   bucket    0 1 … 31     32      33    …     48      …    of a negative value: that of its amount, negative
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

namespace gpushim::analysis {

class RunDb;

constexpr int kBucketBits = 4;  // 16 buckets to an octave
constexpr int64_t kExactBelow = int64_t{2} << kBucketBits;

[[gnu::always_inline]] constexpr int32_t bucket_of_amount(int64_t amount) {
    const auto bits = static_cast<uint64_t>(amount) | (kExactBelow - 1);  // so many at least: no shift
    const int shift = static_cast<int>(std::bit_width(bits)) - 1 - kBucketBits;
    return static_cast<int32_t>((int64_t{shift} << kBucketBits) + (amount >> shift));
}
[[gnu::always_inline]] constexpr int32_t bucket_of(int64_t value) {
    if (value < 0) return -bucket_of_amount(value == INT64_MIN ? INT64_MAX : -value);
    return bucket_of_amount(value);
}
int64_t bucket_low(int32_t bucket);  // the values next to 0 and farthest from it that are in it
int64_t bucket_high(int32_t bucket);

struct Percentile {
    int64_t value;  // the mean of its bucket
    int64_t low, high;
};

class Histogram {
  public:
    [[gnu::always_inline]] void add(int64_t value) { add(value, bucket_of(value)); }
    [[gnu::always_inline]] void add(int64_t value, int32_t bucket) {  // which is its own
        Cell& cell = at(bucket);
        ++cell.count;
        cell.sum += value;
        ++count_;
    }
    void add(const Histogram& other);

    int64_t count() const { return count_; }
    // The smallest value that at least this share does not exceed; none: it is empty.
    std::optional<Percentile> percentile(double share) const;
    std::optional<int64_t> value(double share) const;
    // Rows of `histogram`.
    void write(RunDb& run, const char* what, int64_t gpu_id, int64_t stream_id) const;

  private:
    struct Cell {
        int64_t count = 0, sum = 0;
    };
    [[gnu::always_inline]] Cell& at(int32_t bucket) {
        const uint32_t place = static_cast<uint32_t>(bucket) - static_cast<uint32_t>(first_);
        return place < count_of_cells_ ? cells_[place] : widen(bucket);
    }
    Cell& widen(int32_t bucket);

    int32_t first_ = 0;
    uint32_t count_of_cells_ = 0;
    int64_t count_ = 0;
    std::vector<Cell> cells_;  // from first_ on
};

// What can be added up of values without keeping them.
struct Moments {
    int64_t count = 0, sum = 0, min = 0, max = 0;
    double squares = 0;

    void add(int64_t value) {
        if (count++ == 0)
            min = max = value;
        else if (value < min)
            min = value;
        else if (value > max)
            max = value;
        sum += value;
        squares += static_cast<double>(value) * static_cast<double>(value);
    }
};

}  // namespace gpushim::analysis
