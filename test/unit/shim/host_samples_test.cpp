#include "shim/rows/host_samples.h"

#include <catch2/catch.hpp>
#include <string>

#include "shim/sqlite/rows.h"

namespace host_samples_test {

using namespace gpushim::shim;

namespace {

constexpr HostClass kLock = HostClass::waiting_for_lock;
constexpr HostClass kReading = HostClass::reading;
constexpr HostClass kRunning = HostClass::running;

std::string what(const SampledGap& gap) { return gap.what != nullptr ? gap.what : "-"; }

}  // namespace

TEST_CASE("a gap without a sample says nothing", "[host_samples]") {
    HostSamples samples;
    samples.add(1, {99, kLock, 5});
    samples.add(1, {200, kLock, 5});
    samples.add(2, {150, kLock, 5});
    const SampledGap gap = samples.in(1, 100, 200);
    CHECK(gap.samples == 0);
    CHECK(what(gap) == "-");
    CHECK(gap.runqueue_ns == kNull);
}

//  100   |   reading   |R|R|        lock         |  200        each sample stands for the time before it
TEST_CASE("a gap is what it was blocked on for most of the time", "[host_samples]") {
    HostSamples samples;
    for (const int64_t ns : {130, 131, 132}) samples.add(1, {ns, kReading, kNull});
    samples.add(1, {180, kLock, kNull});
    CHECK(what(samples.in(1, 100, 200)) == "waiting_for_lock");
    CHECK(what(samples.in(1, 100, 180)) == "reading");
    CHECK(samples.in(1, 100, 200).samples == 4);
}

TEST_CASE("running counts only where nothing else was seen", "[host_samples]") {
    HostSamples samples;
    samples.add(1, {190, kRunning, kNull});
    CHECK(what(samples.in(1, 100, 200)) == "running");
    samples.add(1, {195, kReading, kNull});
    CHECK(what(samples.in(1, 100, 200)) == "reading");
}

//  100  |l       |l |l      |R  200
TEST_CASE("the wait for a processor is known between two samples", "[host_samples]") {
    HostSamples samples;
    samples.add(1, {110, kLock, 1'000});
    CHECK(samples.in(1, 100, 200).runqueue_ns == kNull);
    samples.add(1, {150, kLock, 1'020});
    samples.add(1, {160, kLock, 1'030});
    CHECK(samples.in(1, 100, 200).runqueue_ns == 30);
    CHECK(samples.in(1, 100, 160).runqueue_ns == 20);
    samples.add(1, {170, kRunning, kNull});
    CHECK(samples.in(1, 100, 200).runqueue_ns == kNull);
}

//  100  |R       |R |R          200       30 in 50: 60 in 100
TEST_CASE("a thread that was never seen blocked waits for a processor at the same rate before and after",
          "[host_samples]") {
    HostSamples samples;
    samples.add(1, {110, kRunning, 1'000});
    CHECK(samples.in(1, 100, 200).runqueue_ns == kNull);
    samples.add(1, {150, kRunning, 1'020});
    samples.add(1, {160, kRunning, 1'030});
    CHECK(samples.in(1, 100, 200).runqueue_ns == 60);
    CHECK(samples.in(1, 100, 160).runqueue_ns == 30);
    samples.add(1, {170, kLock, 1'030});
    CHECK(samples.in(1, 100, 200).runqueue_ns == 30);
    samples.add(1, {180, kRunning, kNull});
    CHECK(samples.in(1, 100, 200).runqueue_ns == kNull);
}

TEST_CASE("samples of a thread are bounded, and forgotten with it", "[host_samples]") {
    HostSamples samples;
    for (int64_t i = 0; i < 1'000; ++i) samples.add(1, {i, kLock, i});
    samples.add(2, {5, kLock, 5});
    CHECK(samples.in(1, 0, 1'000).samples == 128);
    CHECK(samples.in(1, 999, 1'000).samples == 1);
    const uint32_t kept[] = {2};
    samples.keep_only(kept);
    CHECK(samples.in(1, 0, 1'000).samples == 0);
    CHECK(samples.in(2, 0, 1'000).samples == 1);
}

}  // namespace host_samples_test
