#include "shim/harvest/clock_model.h"

#include <catch2/catch.hpp>
#include <cmath>

namespace clock_model_test {

using namespace gpushim::shim;

namespace {

constexpr int64_t kSecond = 1'000'000'000;

// A device whose clock goes at that rate and jumps once; anchors with intervals of a microsecond.
struct Machine {
    double rate = 1;  // device ns per host ns
    int64_t jump_at_ns = INT64_MAX;
    double jump_ns = 0;
    double device(int64_t host_ns) const {
        return static_cast<double>(host_ns) * rate + (host_ns >= jump_at_ns ? jump_ns : 0);
    }
    void anchor(ClockModel& clock, int64_t host_ns) const {
        clock.add(device(host_ns), host_ns - 700, host_ns + 300);
    }
    void check(const ClockModel& clock, int64_t host_ns) const {
        const Moments at = clock.at(device(host_ns));
        INFO("host " << host_ns << " low " << at.low_ns << " ns " << at.ns << " high " << at.high_ns);
        CHECK(at.low_ns <= host_ns);
        CHECK(at.high_ns >= host_ns);
        CHECK(std::abs(at.ns - host_ns) <= at.likely_ns);
    }
};

}  // namespace

TEST_CASE("one anchor says the time near it, and less the farther away", "[device_clock]") {
    ClockModel clock;
    clock.add(0, 1'000, 1'400);
    CHECK(clock.at(0).ns == 1'200);
    CHECK(clock.at(0).low_ns == 1'000);
    CHECK(clock.at(0).high_ns == 1'400);
    CHECK(clock.error_ns() == 200);
    CHECK(clock.drift_ppb() == kNull);
    CHECK(clock.residual_ns() == kNull);
    // 200 millionths of a second either way
    const Moments later = clock.at(1e9);
    CHECK(later.low_ns == kSecond - 200'000 + 1'000);
    CHECK(later.high_ns == kSecond + 200'000 + 1'400);
}

TEST_CASE("between two anchors time is interpolated", "[device_clock]") {
    ClockModel clock;
    clock.add(0, 1'000, 1'400);
    clock.add(1'000'000, 1'001'020, 1'001'380);  // middles: 1'200 and 1'001'200
    CHECK(clock.at(250'000).ns == 251'200);
    CHECK(clock.at(250'000).likely_ns >= 200);
    CHECK(clock.is_before_newest(1'000'000));
    CHECK_FALSE(clock.is_before_newest(1'000'001));
}

TEST_CASE("a clock that drifts is followed, and its rate known", "[device_clock]") {
    const Machine machine = {1 + 80e-6};
    ClockModel clock;
    for (int64_t ns = kSecond; ns <= 6 * kSecond; ns += 100'000'000) machine.anchor(clock, ns);
    for (int64_t ns = kSecond; ns <= 6 * kSecond; ns += 33'333'333) machine.check(clock, ns);
    CHECK(std::abs(clock.drift_ppb() - 80'000) < 500);
    CHECK(std::abs(clock.residual_ns()) < 1'000);
    const Moments late = clock.at(machine.device(6 * kSecond - 50'000'000));
    CHECK(late.high_ns - late.low_ns < 2'000);
}

TEST_CASE("a clock that jumps widens the error and shifts nothing", "[device_clock]") {
    //  anchors  |    |    |  jump  |    |
    for (const double jump_ns : {-40'000.0, -2'500.0, 2'500.0, 40'000.0}) {
        const Machine machine = {1 + 20e-6, 3 * kSecond + 30'000'000, jump_ns};
        ClockModel clock;
        for (int64_t ns = kSecond; ns <= 6 * kSecond; ns += 100'000'000) machine.anchor(clock, ns);
        for (int64_t ns = kSecond; ns <= 6 * kSecond; ns += 3'333'333) machine.check(clock, ns);
        const Moments hit = clock.at(machine.device(3 * kSecond + 10'000'000));
        CHECK(static_cast<double>(hit.high_ns - hit.low_ns) > std::abs(jump_ns));
        const Moments after = clock.at(machine.device(6 * kSecond - 50'000'000));
        CHECK(after.high_ns - after.low_ns < 4'000);
    }
}

TEST_CASE("what cannot be told from a jump keeps the bounds wide", "[device_clock]") {
    // Two anchors alone: 4 us more or less in 20 ms may be either; a third one tells.
    for (const double jump_ns : {-3'500.0, 3'500.0}) {
        const Machine machine = {1, kSecond + 15'000'000, jump_ns};
        ClockModel clock;
        machine.anchor(clock, kSecond);
        machine.anchor(clock, kSecond + 20'000'000);
        for (int64_t ns = kSecond; ns <= kSecond + 20'000'000; ns += 1'000'000) machine.check(clock, ns);
        CHECK(clock.drift_ppb() == kNull);
        machine.anchor(clock, kSecond + 40'000'000);
        for (int64_t ns = kSecond; ns <= kSecond + 40'000'000; ns += 1'000'000) machine.check(clock, ns);
        machine.anchor(clock, kSecond + 60'000'000);
        for (int64_t ns = kSecond; ns <= kSecond + 60'000'000; ns += 1'000'000) machine.check(clock, ns);
    }
}

TEST_CASE("anchors that go back are left out", "[device_clock]") {
    ClockModel clock;
    clock.add(1'000, 0, 100);
    clock.add(500, 40'000, 40'100);
    CHECK(clock.residual_ns() == kNull);
    CHECK(clock.at(1'000).high_ns == 100);
}

}  // namespace clock_model_test
