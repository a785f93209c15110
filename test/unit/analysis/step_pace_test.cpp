// How long steps take, as they become known.
#include "analysis/live/step_pace.h"

#include <catch2/catch.hpp>

namespace step_pace_test {

using namespace gpushim::analysis;

namespace {

constexpr int64_t kMs = 1'000'000, kSecond = 1000 * kMs;

}  // namespace

//  s        0           50          60
//  steps    |100 ms …   |200 ms …   |  now
TEST_CASE("a pace is the median of the newest ten seconds, and how it changed", "[top]") {
    StepPace pace;
    for (int64_t at = 0; at <= 50 * kSecond; at += 100 * kMs) pace.mark(at);
    for (int64_t at = 50 * kSecond + 200 * kMs; at <= 60 * kSecond; at += 200 * kMs) pace.mark(at);
    const PaceNow now = pace.at(60 * kSecond);
    CHECK(now.median_ns == 200 * kMs);
    CHECK(now.steps == 50);
    REQUIRE(now.change);
    CHECK(*now.change == Approx(1.0));
    REQUIRE(now.course_ns.size() == 12);
    CHECK(now.course_ns[0] == 100 * kMs);
    CHECK(now.course_ns[11] == 200 * kMs);
}

TEST_CASE("steps that are told twice count once, and may come late", "[top]") {
    StepPace pace;
    for (int i = 0; i < 2; ++i)
        for (const int64_t at : {3, 1, 2}) pace.add(at * kSecond, kSecond);
    CHECK(pace.size() == 3);
    for (int i = 0; i < 3; ++i) pace.mark(9 * kSecond);
    pace.mark(8 * kSecond);  // of before: known
    CHECK(pace.size() == 3);
}

TEST_CASE("what is no longer new has no pace, and no change where there is little to compare", "[top]") {
    StepPace pace;
    for (int64_t i = 0; i < 20; ++i) pace.mark(i * kSecond / 10);
    CHECK(pace.at(2 * kSecond).median_ns == 100 * kMs);
    CHECK(!pace.at(2 * kSecond).change);
    CHECK(!pace.at(20 * kSecond).median_ns);
    CHECK(pace.at(90 * kSecond).steps == 0);
    CHECK(pace.size() == 0);
}

TEST_CASE("memory is bounded however short steps are", "[top]") {
    StepPace pace;
    for (int64_t i = 0; i < 100'000; ++i) pace.mark(i);
    CHECK(pace.size() == StepPace::kMostSteps);
}

}  // namespace step_pace_test
