#include "analysis/run/parts/thinned.h"
#include "box.h"

namespace thinned_test {

using namespace gpushim::analysis;

// samples   1   3    |    8        two parts of 10
TEST_CASE("samples are thinned to the mean and the highest of each part", "[thinned]") {
    const auto parts = thinned_samples({{0, 1}, {5, 3}, {19, 8}}, 2);
    REQUIRE(parts.size() == 2);
    CHECK(parts[0].from_ns == 0);
    CHECK(parts[0].mean == Approx(2));
    CHECK(parts[0].most == 3);
    CHECK(parts[1].from_ns == 10);
    CHECK(parts[1].mean == 8);
    CHECK(thinned_samples({}, 3).empty());
    CHECK(thinned_samples({{7, 2}}, 3).size() == 1);
}

// held   0 ─┐4────┐2─────────
// time   0  5     10        20      of the first part 2 on average, of the second 2
TEST_CASE("what holds until it changes is thinned by time", "[thinned]") {
    ThinnedSteps steps(0, 19, 2);
    steps.add({5, 4});
    steps.add({10, 2});
    const auto parts = steps.finish();
    REQUIRE(parts.size() == 2);
    CHECK(parts[0].mean == Approx(2));
    CHECK(parts[0].most == 4);
    CHECK(parts[1].mean == Approx(2));
    CHECK(parts[1].most == 2);
}

TEST_CASE("a peak that lasts no time is the highest of its part all the same", "[thinned]") {
    ThinnedSteps steps(0, 100, 4);
    steps.add({30, 9});
    steps.add({30, 1});
    steps.add({500, 7});  // behind the end: of the last instant
    const auto parts = steps.finish();
    REQUIRE(parts.size() == 4);
    CHECK(parts[1].most == 9);
    CHECK(parts[1].mean < 1);
}

TEST_CASE("times that cannot be have parts, as many as others", "[thinned]") {
    ThinnedSteps steps(INT64_MIN, INT64_MAX, 4);
    steps.add({INT64_MIN + 1, 1});
    steps.add({INT64_MAX, 2});
    CHECK(steps.finish().size() <= 5);
    CHECK(thinned_samples({{INT64_MIN, 1}, {0, 2}, {1, 3}, {2, 4}, {3, 5}, {INT64_MAX, 6}}, 2).size() <= 3);
}

}  // namespace thinned_test
