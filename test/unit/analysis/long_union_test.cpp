// Unions of long runs: summed on the way, they are as long as at once.
#include "analysis/busy/long_union.h"

#include <catch2/catch.hpp>
#include <random>

namespace long_union_test {

using namespace gpushim::analysis;

namespace {

constexpr int64_t kSecond = 1'000'000'000;

}  // namespace

//   second     0    1    2    3
//   spans      ██   ██   ██   ██      the first is settled in the third second
//   open           |- - - - - - -
TEST_CASE("what is open keeps what it may still cover", "[long_union]") {
    const Interval run = {0, 10 * kSecond};
    LongUnion whole;
    for (int64_t i = 0; i < 4; ++i) whole.add({i * kSecond, i * kSecond + 100});
    whole.settle({{kSecond - 500, INT64_MAX}}, 4 * kSecond, run);
    whole.add({kSecond - 500, 2 * kSecond + 200});  // it was over then
    CHECK(whole.take_ns({}, run) == 100 + kSecond + 700 + 100);
    CHECK(whole.take_ns({}, run) == 0);
}

TEST_CASE("a run that begins within a span counts from there", "[long_union]") {
    LongUnion whole;
    whole.add({0, 100});
    whole.add({200, 300});
    whole.settle({}, 5 * kSecond, {60, 10 * kSecond});
    CHECK(whole.take_ns({{9 * kSecond, INT64_MAX}}, {60, 10 * kSecond}) == 40 + 100 + kSecond);
}

TEST_CASE("a long run, settled whenever it asks for it", "[long_union][random]") {
    std::mt19937_64 random(3);
    const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
    const Interval run = {1000, INT64_MAX};
    LongUnion whole;
    std::vector<Interval> all;
    int64_t open_ns = INT64_MAX, settled = 0;
    for (int64_t i = 0; i < 300'000; ++i) {
        const int64_t now_ns = i * 50'000;
        Interval span = {now_ns + below(90'000), 0};
        if (open_ns == INT64_MAX && below(20'000) == 0) open_ns = now_ns;  // from here on may be told late
        if (open_ns != INT64_MAX && below(30'000) == 0) span.start_ns = std::exchange(open_ns, INT64_MAX);
        span.end_ns = std::max(span.start_ns, now_ns) + below(60'000);
        all.push_back(span);
        whole.add(span);
        if (!whole.is_long()) continue;
        whole.settle(open_ns == INT64_MAX ? Intervals{} : Intervals{{open_ns, INT64_MAX}}, now_ns, run);
        ++settled;
    }
    CHECK(settled >= 3);
    CHECK(whole.take_ns({}, run) == length_ns(clip(unite(all), run)));
}

}  // namespace long_union_test
