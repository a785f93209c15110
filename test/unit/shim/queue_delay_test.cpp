#include "shim/harvest/queue_delay.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "repeats.h"

namespace queue_delay_test {

using namespace gpushim::shim;

namespace {

// A device on which an operation starts δ after its call on an empty queue:  span = d + max(gap, δ - slack).
struct Device {
    int64_t delay_ns = 4'000;
    int64_t call_ns = 4'000;
    double noise = 0;  // of durations
    int64_t gap_ns = 0;
    std::mt19937 engine{7};

    Observed run(int64_t duration_ns, int64_t slack_ns) {
        std::normal_distribution<double> around(1, noise > 0 ? noise : 1e-12);
        const auto took_ns = std::llround(static_cast<double>(duration_ns) * around(engine));
        return {true, slack_ns, took_ns + std::max<int64_t>(gap_ns, delay_ns - slack_ns), call_ns, gap_ns};
    }
};

constexpr auto kLaunch = Operation::launch;

}  // namespace

TEST_CASE("a shape seen queued and not gives both delay and duration", "[queue_delay]") {
    Device device;
    QueueDelay learnt;
    for (int i = 0; i < 20; ++i) learnt.learn(kLaunch, 1, device.run(2'000, -1'500 + 50 * i));
    learnt.settle();
    CHECK_FALSE(learnt.delay(kLaunch).is_known);  // nothing was queued
    CHECK(learnt.wants_queued());
    for (int i = 0; i < 2; ++i) learnt.learn(kLaunch, 1, device.run(2'000, 13'000 + i));
    learnt.settle();
    REQUIRE(learnt.delay(kLaunch).is_known);
    CHECK(learnt.delay(kLaunch).ns == 4'000);
    CHECK(learnt.delay(kLaunch).high_ns - learnt.delay(kLaunch).low_ns < 500);
    CHECK(learnt.usual(kLaunch, 1).from_enter.ns == 8'000);
    CHECK(learnt.usual(kLaunch, 1).duration.ns == 2'000);
    CHECK_FALSE(learnt.wants_queued());
}

TEST_CASE("what was queued has a gap before it that others do not have", "[queue_delay]") {
    Device device;
    device.gap_ns = 1'200;
    QueueDelay learnt;
    for (int i = 0; i < 20; ++i) learnt.learn(kLaunch, 1, device.run(2'000, -1'500 + 250 * i));
    for (int i = 0; i < 8; ++i) learnt.learn(kLaunch, 1, device.run(2'000, 13'000 + i));
    learnt.settle();
    REQUIRE(learnt.delay(kLaunch).is_known);
    CHECK(learnt.delay(kLaunch).ns == 4'000);
    CHECK(learnt.usual(kLaunch, 1).duration.ns == 2'000);
}

TEST_CASE("what is common does not push out the one that was queued", "[queue_delay]") {
    Device device;
    QueueDelay learnt;
    learnt.learn(kLaunch, 1, device.run(2'000, 13'000));
    for (int batch = 0; batch < 50; ++batch) {
        for (int i = 0; i < 200; ++i) learnt.learn(kLaunch, 1, device.run(2'000, -1'500));
        learnt.settle();
    }
    REQUIRE(learnt.delay(kLaunch).is_known);
    CHECK(learnt.delay(kLaunch).ns == 4'000);
}

TEST_CASE("where the most slack was too little, nothing is said", "[queue_delay]") {
    //  slack   -1   0   1   2   3   | δ = 4
    Device device;
    QueueDelay learnt;
    for (int64_t slack_ns = -1'000; slack_ns <= 3'000; slack_ns += 100)
        learnt.learn(kLaunch, 1, device.run(2'000, slack_ns));
    learnt.settle();
    CHECK_FALSE(learnt.delay(kLaunch).is_known);
    CHECK(learnt.delay(kLaunch).high_ns == 0);
}

TEST_CASE("where slack makes no difference, delay is at most the least of it", "[queue_delay]") {
    Device device;
    QueueDelay learnt;
    for (int64_t slack_ns = 9'000; slack_ns <= 30'000; slack_ns += 1'000)
        learnt.learn(kLaunch, 1, device.run(10'000, slack_ns));
    learnt.settle();
    CHECK_FALSE(learnt.delay(kLaunch).is_known);
    CHECK(learnt.delay(kLaunch).high_ns == 9'000);
    // … which says nothing where it is much
    for (int64_t slack_ns = 900'000; slack_ns <= 3'000'000; slack_ns += 100'000)
        learnt.learn(Operation::copy, 1, device.run(10'000, slack_ns));
    learnt.settle();
    CHECK(learnt.delay(Operation::copy).high_ns == 0);
}

TEST_CASE("durations that vary make the delay less sure, not wrong", "[queue_delay]") {
    Device device;
    device.noise = 0.05;
    QueueDelay learnt;
    std::mt19937 engine(3);
    for (int i = 0; i < 400; ++i) {
        learnt.learn(kLaunch, i % 3, device.run(20'000, static_cast<int64_t>(engine() % 40'000) - 2'000));
        if (i % 40 == 39) learnt.settle();
    }
    REQUIRE(learnt.delay(kLaunch).is_known);
    CHECK(learnt.delay(kLaunch).low_ns < 4'000);
    CHECK(learnt.delay(kLaunch).high_ns > 4'000);
    CHECK(std::abs(learnt.delay(kLaunch).ns - 4'000) < 1'500);
}

TEST_CASE("the steadiest shapes say the delay", "[queue_delay]") {
    Device steady, wild;
    wild.noise = 0.1;
    QueueDelay learnt;
    std::mt19937 engine(3);
    for (int i = 0; i < 600; ++i) {
        const int64_t slack_ns = static_cast<int64_t>(engine() % 40'000) - 2'000;
        if (i % 8 == 0) learnt.learn(kLaunch, 1, steady.run(3'000, slack_ns));
        learnt.learn(kLaunch, 2, wild.run(200'000, slack_ns));
        if (i % 40 == 39) learnt.settle();
    }
    REQUIRE(learnt.delay(kLaunch).is_known);
    CHECK(std::abs(learnt.delay(kLaunch).ns - 4'000) < 300);
    CHECK(learnt.delay(kLaunch).high_ns - learnt.delay(kLaunch).low_ns < 600);
}

TEST_CASE("a kind that was never seen on both sides takes another's, less surely", "[queue_delay]") {
    Device device;
    QueueDelay learnt;
    for (int i = 0; i < 8; ++i) {
        learnt.learn(kLaunch, 1, device.run(2'000, -1'500));
        learnt.learn(kLaunch, 1, device.run(2'000, 20'000));
    }
    learnt.settle();
    const Spread launch = learnt.delay(kLaunch), copy = learnt.delay(Operation::copy);
    REQUIRE(copy.is_known);
    CHECK(copy.ns == launch.ns);
    CHECK(copy.high_ns - copy.low_ns == launch.high_ns - launch.low_ns + 4'000);
}

namespace {

constexpr int kSeeds = repeats(20, 5);

// What a run of starved operations shows, some of them queued: how many of them began within what is stated.
struct Run {
    double noise;        // of durations; neighbours are alike
    double delay_noise;  // of δ
    int64_t duration_ns;
    int queued_every;
    uint32_t seed;
    int64_t half_ns = 0;
    int64_t off_ns = 0;

    double likely() {
        constexpr int kRuns = 4'000, kBatch = 250;
        constexpr double kKept = 0.9;
        std::mt19937 engine(seed);
        std::normal_distribution<double> any(0, 1);
        QueueDelay learnt;
        std::vector<int64_t> delays;
        double state = any(engine);
        for (int i = 0; i < kRuns; ++i) {
            state = kKept * state + std::sqrt(1 - kKept * kKept) * any(engine);
            const auto took_ns = std::llround(static_cast<double>(duration_ns) * std::exp(noise * state));
            const int64_t delay_ns = 4'000 + std::llround(delay_noise * any(engine));
            const int64_t slack_ns = queued_every != 0 && i % queued_every == 0 ? 13'000 : -1'500;
            learnt.learn(kLaunch, 1,
                         {true, slack_ns, took_ns + std::max<int64_t>(0, delay_ns - slack_ns), 4'000, 0});
            if (slack_ns < 0) delays.push_back(delay_ns);
            if (i % kBatch == kBatch - 1) learnt.settle();
        }
        const Spread said = learnt.delay(kLaunch);
        if (!said.is_known) return 1;
        half_ns = said.high_ns - said.ns;
        off_ns = std::abs(said.ns - 4'000);
        const auto within = std::ranges::count_if(
            delays, [&](int64_t ns) { return said.low_ns <= ns && ns <= said.high_ns; });
        return static_cast<double>(within) / static_cast<double>(delays.size());
    }
};

}  // namespace

TEST_CASE("what is stated of the delay holds, however durations vary", "[queue_delay]") {
    for (const double noise : {0.0, 0.05, 0.2, 0.5})
        for (const int every : {3'000, 500, 250, 40}) {
            double sum = 0;
            int64_t most_ns = 0, off_ns = 0;
            for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
                Run run = {noise, 0, 10'000, every, seed};
                sum += run.likely();
                most_ns = std::max(most_ns, run.half_ns);
                off_ns += run.off_ns;
            }
            INFO("durations vary by " << noise << ", one of " << every << " queued, at most +-" << most_ns
                                      << ", off " << off_ns / kSeeds);
            CHECK(sum / kSeeds >= 0.95);
            if (noise == 0) CHECK(most_ns <= 100);
            CHECK(static_cast<double>(off_ns) / kSeeds <= noise * 10'000);
        }
}

TEST_CASE("a delay that varies itself is stated to", "[queue_delay]") {
    for (const double noise : {0.0, 0.05, 0.2})
        for (const double delay_noise : {200.0, 1'000.0}) {
            double sum = 0;
            for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
                Run run = {noise, delay_noise, 5'000, 125, seed};
                sum += run.likely();
            }
            INFO("durations vary by " << noise << ", the delay by " << delay_noise);
            CHECK(sum / kSeeds >= 0.95);
        }
}

}  // namespace queue_delay_test
