// Changes within a run: how often one is said of steady steps, how often a change is found, and how far from
// where it was. Steps of 20 ms; noise that steps share with their neighbours, as clocks and neighbours make
// it.
#include "analysis/step/changes.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "repeats.h"

namespace step_changes_test {

using namespace gpushim::analysis;

namespace {

constexpr double kStepNs = 20e6;

struct Series {
    double spread = 0.02;  // of one step
    double memory = 0;     // how much of it the next step has
    double wave = 0;       // of 200 steps
    int every = 0;         // one step in so many takes twice as long
};

std::vector<int64_t> made(size_t steps, uint64_t seed, const Series& is, size_t at = SIZE_MAX,
                          double by = 0) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    std::vector<int64_t> lengths;
    double noise = 0;
    for (size_t i = 0; i < steps; ++i) {
        noise = is.memory * noise + std::sqrt(1 - is.memory * is.memory) * normal(random);
        double length = 1 + is.spread * noise + is.wave * std::sin(static_cast<double>(i) / 31.8);
        if (is.every > 0 && static_cast<int>(i) % is.every == is.every - 1) length *= 2;
        if (i >= at) length *= 1 + by;
        lengths.push_back(static_cast<int64_t>(kStepNs * std::max(0.1, length)));
    }
    return lengths;
}

// Of so many steady series, how many are said to have a change.
int false_alarms(int series, const Series& is, size_t steps = 1000) {
    int wrong = 0;
    for (int seed = 1; seed <= series; ++seed)
        wrong += !find_changes(made(steps, static_cast<uint64_t>(seed), is)).empty();
    return wrong;
}

struct Found {
    int times = 0;
    size_t furthest = 0;  // from where it was, in steps
};

constexpr int kSeries = repeats(50, 10);

Found found(const Series& is, double by) {
    Found sum;
    for (int seed = 1; seed <= kSeries; ++seed) {
        const auto changes = find_changes(made(1000, static_cast<uint64_t>(seed), is, 600, by));
        if (changes.size() != 1) continue;
        ++sum.times;
        const size_t at = changes.front().at;
        sum.furthest = std::max(sum.furthest, at > 600 ? at - 600 : 600 - at);
    }
    return sum;
}

}  // namespace

TEST_CASE("steady steps have no change", "[changes]") {
    CHECK(false_alarms(repeats(100, 5), {.spread = 0.02}) == 0);
    CHECK(false_alarms(repeats(100, 5), {.spread = 0.05, .memory = 0.9}) == 0);
    CHECK(false_alarms(repeats(100, 5), {.spread = 0.02, .wave = 0.1}) == 0);
    CHECK(false_alarms(repeats(100, 5), {.spread = 0.02, .every = 10}) == 0);
    CHECK(false_alarms(repeats(50, 5), {.spread = 0.3}) == 0);
}

TEST_CASE("a change is found where it was", "[changes]") {
    for (const double by : {0.08, 0.18, 1.0, -0.1}) {
        INFO(by);
        const Found steady = found({.spread = 0.02}, by);
        CHECK(steady.times == kSeries);
        CHECK(steady.furthest <= 10);
    }
    const Found alike = found({.spread = 0.02, .memory = 0.9}, 0.18);
    CHECK(alike.times >= repeats(45, 8));
    CHECK(alike.furthest <= 40);
}

TEST_CASE("a change is told with both medians and bounds", "[changes]") {
    const auto changes = find_changes(made(1000, 7, {.spread = 0.01}, 600, 0.25));
    REQUIRE(changes.size() == 1);
    const MedianShift& shift = changes[0].shift;
    CHECK(shift.base_ns == Approx(20e6).epsilon(0.005));
    CHECK(shift.new_ns == Approx(25e6).epsilon(0.005));
    CHECK(shift.low_ns < 5e6);
    CHECK(shift.high_ns > 5e6);
}

TEST_CASE("several changes are found, and what is too small or too late is none", "[changes]") {
    auto lengths = made(1000, 3, {.spread = 0.01}, 300, 0.2);
    for (size_t i = 700; i < lengths.size(); ++i) lengths[i] = lengths[i] * 5 / 6;
    const auto changes = find_changes(lengths);
    REQUIRE(changes.size() == 2);
    CHECK(changes[0].shift.shift_ns() > 0);
    CHECK(changes[1].shift.shift_ns() < 0);
    CHECK(find_changes(made(1000, 3, {.spread = 0.01}, 600, 0.03)).empty());
    CHECK(find_changes(made(1000, 3, {.spread = 0.01}, 985, 0.5)).empty());
    CHECK(find_changes(made(60, 3, {.spread = 0.01}, 30, 0.5)).empty());
}

// Not part of `make test`; what the README of step/ states comes from here: build/test/unit "[changes_full]";
// half a minute of a processor.
TEST_CASE("of a thousand steady series about one has a change", "[.][changes_full]") {
    const Series kinds[] = {{.spread = 0.02},
                            {.spread = 0.05, .memory = 0.9},
                            {.spread = 0.05, .memory = 0.97},
                            {.spread = 0.02, .wave = 0.1}};
    int all = 0, worst = 0;
    for (uint64_t run = 0; run < 20; ++run) {
        int wrong = 0;
        for (uint64_t i = 0; i < 1000; ++i)
            wrong += !find_changes(made(1000, run * 1000 + i + 1, kinds[i % 4])).empty();
        all += wrong;
        worst = std::max(worst, wrong);
    }
    WARN(all << " of 20,000, at most " << worst << " in a run of 1,000");
    CHECK(all <= 20);
}

}  // namespace step_changes_test
