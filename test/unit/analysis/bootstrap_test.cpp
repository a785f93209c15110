// What windows say about their run, asked of runs whose answer is known.
#include "analysis/busy/sampled.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "repeats.h"

namespace bootstrap_test {

using namespace gpushim::analysis;

namespace {

// A share of 0.6 that goes up and down by `spread` from window to window.
std::vector<PartOf> windows_of(std::mt19937_64& random, size_t count, double spread) {
    std::normal_distribution<double> share(0.6, spread);
    std::uniform_int_distribution<int64_t> length(600'000'000, 2'500'000'000);
    std::vector<PartOf> windows;
    for (size_t i = 0; i < count; ++i) {
        const int64_t whole = length(random);
        windows.push_back({static_cast<int64_t>(share(random) * static_cast<double>(whole)), whole});
    }
    return windows;
}

}  // namespace

TEST_CASE("a ratio of windows is one of sums, not a mean of ratios", "[sampled]") {
    //  ██████████──────────   10 of 20
    //  ████                    4 of  4
    const std::vector<PartOf> windows = {{10, 20}, {4, 4}};
    CHECK(*ratio_of(windows) == Approx(14.0 / 24));
    CHECK(!ratio_of({}));
    CHECK(!ratio_of(std::vector<PartOf>{{0, 0}}));
}

TEST_CASE("one window does not tell how the others were", "[sampled]") {
    CHECK(!sampling_range({}));
    CHECK(!sampling_range(std::vector<PartOf>{{10, 20}}));
    CHECK(sampling_range(std::vector<PartOf>{{10, 20}, {10, 20}}));
}

TEST_CASE("windows that are all alike leave nothing open", "[sampled]") {
    const std::vector<PartOf> windows(9, {30, 100});
    CHECK(sampling_range(windows)->low == Approx(0.3));
    CHECK(sampling_range(windows)->high == Approx(0.3));
}

TEST_CASE("the same windows give the same answer", "[sampled]") {
    std::mt19937_64 random(5);
    const auto windows = windows_of(random, 12, 0.1);
    CHECK(sampling_range(windows)->low == sampling_range(windows)->low);
    CHECK(sampling_range(windows)->low < *ratio_of(windows));
    CHECK(sampling_range(windows)->high > *ratio_of(windows));
}

TEST_CASE("the range holds the truth in 95 of 100 runs", "[sampled]") {
    for (const size_t count : {4U, 8U, 20U}) {
        std::mt19937_64 random(count);
        constexpr int kRuns = repeats(300, 100);
        int held = 0;
        for (int run = 0; run < kRuns; ++run) {
            const auto range = sampling_range(windows_of(random, count, 0.08));
            held += range->low <= 0.6 && 0.6 <= range->high;
        }
        INFO(count << " windows");
        CHECK(held >= kRuns * 93 / 100);
        CHECK(held <= kRuns * 99 / 100);  // not by saying nothing
    }
}

}  // namespace bootstrap_test
