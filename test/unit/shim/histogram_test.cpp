#include "shim/sqlite/histogram.h"

#include <catch2/catch.hpp>
#include <map>
#include <random>

namespace histogram_test {

using namespace gpushim::shim;

namespace {

std::vector<uint8_t> copy_of(Histogram& histogram) {
    const auto bytes = histogram.bytes();
    return {bytes.begin(), bytes.end()};
}

}  // namespace

TEST_CASE("buckets are four to an octave", "[histogram]") {
    //   ns      0 1 2 3 | 4 5 6 7 | 8 9 10 11 12 | 16
    //   bucket  0 1 2 3 | 4 5 6 7 | 8 8  9  9 10 | 12
    const int64_t ns[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 20};
    const int bucket[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 9, 9, 10, 11, 12, 13};
    for (size_t i = 0; i < std::size(ns); ++i) CHECK(bucket_of(ns[i]) == bucket[i]);
    CHECK(bucket_of(-1) == 0);
    CHECK(bucket_of(INT64_MAX) == 4 * 61 + 3);
    for (int octave = 2; octave < 63; ++octave) CHECK(bucket_of(int64_t{1} << octave) == 4 * (octave - 1));
}

TEST_CASE("a histogram as bytes: numbers of buckets and counts", "[histogram]") {
    Histogram histogram;
    CHECK(copy_of(histogram).empty());
    histogram.add(4, 1);
    histogram.add(1000, 300);
    histogram.add(4, 2);
    CHECK(copy_of(histogram) == std::vector<uint8_t>{4, 3, bucket_of(1000), 0xac, 0x02});
}

TEST_CASE("the sum of histograms is the histogram of all", "[histogram]") {
    std::mt19937_64 chance(3);
    Histogram all, parts[3], sum;
    for (int i = 0; i < 3000; ++i) {
        const auto ns = static_cast<int64_t>(chance() >> (1 + chance() % 60));
        const uint64_t times = 1 + chance() % 500;
        all.add(ns, times);
        parts[chance() % 3].add(ns, times);
    }
    for (Histogram& part : parts) sum.add(part.bytes());
    CHECK(copy_of(sum) == copy_of(all));
}

TEST_CASE("damaged bytes count up to the damage", "[histogram]") {
    Histogram histogram;
    const uint8_t cut[] = {4, 3, 9, 0x80},
                  endless[] = {5, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    histogram.add(std::span(cut));
    histogram.add(std::span(endless));
    CHECK(copy_of(histogram) == std::vector<uint8_t>{4, 3});
}

}  // namespace histogram_test
