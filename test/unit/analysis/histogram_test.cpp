// Histograms of a run: buckets, percentiles with their error, adding up.
#include "analysis/run/sql/histogram.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "made_facts.h"

#include <catch2/catch.hpp>

namespace histogram_test {

using namespace made;

TEST_CASE("buckets of a histogram are exact below 32 and a 16th of an octave above", "[run_histogram]") {
    CHECK(bucket_of(0) == 0);
    CHECK(bucket_of(31) == 31);
    CHECK(bucket_of(32) == 32);
    CHECK(bucket_of(33) == 32);
    CHECK(bucket_of(34) == 33);
    CHECK(bucket_of(64) == 48);
    CHECK(bucket_of(67) == 48);
    CHECK(bucket_of(68) == 49);
    CHECK(bucket_of(1024) == 16 * 7);
    CHECK(bucket_of(-34) == -33);
    CHECK(bucket_low(48) == 64);
    CHECK(bucket_high(48) == 67);
}

TEST_CASE("buckets that no number has are the last one", "[run_histogram]") {
    for (const int32_t bucket : {960, 24'676, INT32_MAX}) {
        CHECK(bucket_low(bucket) == bucket_low(959));
        CHECK(bucket_high(bucket) == INT64_MAX);
        CHECK(bucket_high(-bucket) == -INT64_MAX);
    }
    CHECK(bucket_low(INT32_MIN) == -bucket_low(959));
}

TEST_CASE("buckets of a histogram tile all numbers", "[run_histogram]") {
    const int32_t last = bucket_of(INT64_MAX);
    CHECK(bucket_high(last) == INT64_MAX);
    for (int32_t bucket = 0; bucket < last; ++bucket) {
        REQUIRE(bucket_of(bucket_low(bucket)) == bucket);
        REQUIRE(bucket_of(bucket_high(bucket)) == bucket);
        REQUIRE(bucket_high(bucket) + 1 == bucket_low(bucket + 1));
        const int64_t width = bucket_high(bucket) - bucket_low(bucket);
        REQUIRE(width <= bucket_low(bucket) / 16);
    }
}

TEST_CASE("percentiles of a histogram lie where the value of that rank is", "[run_histogram]") {
    std::mt19937_64 random(1);
    std::lognormal_distribution<double> times(10, 2);
    std::vector<int64_t> values;
    Histogram histogram, first, second;
    for (int i = 0; i < 5000; ++i) {
        values.push_back(static_cast<int64_t>(times(random)) - 100);
        histogram.add(values.back());
        (i % 3 == 0 ? first : second).add(values.back());
    }
    std::sort(values.begin(), values.end());
    first.add(second);
    for (const double share : {0.0, 0.05, 0.5, 0.95, 0.999, 1.0}) {
        const auto rank = static_cast<size_t>(std::max(1.0, std::ceil(share * 5000 - 1e-9)));
        const int64_t truth = values[rank - 1];
        const auto found = histogram.percentile(share);
        CHECK(found->low <= truth);
        CHECK(truth <= found->high);
        CHECK(found->low <= found->value);
        CHECK(found->value <= found->high);
        CHECK(first.value(share) == histogram.value(share));
    }
    CHECK(first.count() == 5000);
}

TEST_CASE("a histogram of nothing has no percentile", "[run_histogram]") {
    CHECK(!Histogram().percentile(0.5));
    Histogram other;
    other.add(Histogram());
    CHECK(other.count() == 0);
}

TEST_CASE("a histogram's rows are its buckets", "[run_histogram]") {
    Histogram histogram;
    for (const int64_t value : {64, 67, -5, 1024}) histogram.add(value);
    Written written;
    histogram.write(written.run(), "runway", 20, 1);
    CHECK(written.ask("SELECT count(*), sum(count), sum(sum_ns) FROM histogram WHERE what = 'runway'") ==
          "3 4 1150");
    CHECK(written.ask("SELECT count, sum_ns FROM histogram WHERE gpu_id = 20 AND stream_id = 1"
                      " AND bucket = 48") == "2 131");
    CHECK(written.ask("SELECT sum_ns FROM histogram WHERE bucket = -5") == "-5");
}

}  // namespace histogram_test
