#include "engine/box_state.h"

#include <memory>
#include <vector>

#include "box.h"
#include "other_process.h"

namespace box_state_test {

using namespace gpusim;

namespace {

constexpr Ns kMs = 1'000'000;
constexpr Ns kStart = 10'000 * kMs;  // a multiple of kBinNs

int processes() {
    int count = 0;
    gpusim::box::each_process([&](const ProcessUse&) { ++count; });
    return count;
}

double compute_share(Ns now, Ns past_ns) { return gpusim::box::busy_share(0, Engine::compute, now, past_ns); }

}  // namespace

TEST_CASE("memory of a device is one for all processes of the box", "[box_state]") {
    ::box::knobs("GPUSIM_DEVICES=2 GPUSIM_MEMORY_GB=1");
    OtherProcess other([] { gpusim::box::take_memory(0, 700 << 20); });
    CHECK(gpusim::box::memory_used(0) == 700 << 20);
    CHECK(gpusim::box::memory_used(1) == 0);
    CHECK_FALSE(gpusim::box::take_memory(0, 400 << 20));
    CHECK(gpusim::box::memory_used(0) == 700 << 20);
    CHECK(gpusim::box::take_memory(0, 324 << 20));
    CHECK(gpusim::box::take_memory(1, 400 << 20));
    gpusim::box::return_memory(0, 24 << 20);
    CHECK(gpusim::box::memory_used(0) == 1000 << 20);
}

TEST_CASE("what a killed process held is free again", "[box_state]") {
    auto other = std::make_unique<OtherProcess>([] { gpusim::box::take_memory(0, 700 << 20); });
    CHECK(processes() == 1);
    other->kill_now();
    CHECK(gpusim::box::memory_used(0) == 0);
    CHECK(processes() == 0);
    CHECK(gpusim::box::take_memory(0, 5));
    CHECK(gpusim::box::memory_used(0) == 5);
    CHECK(processes() == 1);
}

TEST_CASE("counters of bytes and busy time outlive their process", "[box_state]") {
    OtherProcess other([] {
        gpusim::box::count_bytes(0, 0, 10);
        gpusim::box::count_bytes(0, 1, 20);
        gpusim::box::count_bytes(0, 2, 30);
        gpusim::box::count_busy(0, Engine::copy, kStart, kStart + 7);
    });
    gpusim::box::count_bytes(0, 0, 1);  // takes a part of the box while the other lives
    other.kill_now();
    CHECK(gpusim::box::bytes(0, 0) == 11);
    OtherProcess next([] { gpusim::box::count_bytes(0, 0, 100); });  // takes over the dead one's part
    CHECK(gpusim::box::bytes(0, 0) == 111);
    CHECK(gpusim::box::bytes(0, 1) == 20);
    CHECK(gpusim::box::bytes(0, 2) == 30);
    CHECK(gpusim::box::busy_ns(0, Engine::copy) == 7);
    CHECK(gpusim::box::busy_ns(0, Engine::compute) == 0);
}

TEST_CASE("many processes that come at once get a part each", "[box_state]") {
    for (int round = 0; round < 5; ++round) {
        std::vector<std::unique_ptr<OtherProcess>> others;
        int go[2];
        REQUIRE(pipe(go) == 0);
        for (int i = 0; i < 32; ++i)
            others.push_back(std::make_unique<OtherProcess>(
                [&] {
                    char byte;
                    close(go[1]);
                    if (read(go[0], &byte, 1) == 0) gpusim::box::take_memory(0, 1000);
                },
                OtherProcess::Wait::no));
        close(go[0]);
        close(go[1]);
        for (auto& other : others) other->wait_until_there();
        CHECK(processes() == 32);
        CHECK(gpusim::box::memory_used(0) == 32'000);
    }
}

TEST_CASE("a child that ends does not take its parent off the box", "[box_state]") {
    gpusim::box::take_memory(0, 50);
    const pid_t child = fork();
    if (child == 0) std::exit(0);
    waitpid(child, nullptr, 0);
    CHECK(gpusim::box::memory_used(0) == 50);
}

TEST_CASE("a program that replaces itself comes back to the box as a new one", "[box_state]") {
    if (std::getenv("THE_SECOND_TIME") == nullptr) {
        OtherProcess keeps_the_first_part([] { gpusim::box::mine(); });
        gpusim::box::take_memory(0, 50);
        setenv("THE_SECOND_TIME", "yes", 1);
        keeps_the_first_part.kill_now();
        ::box::start_again();
    }
    gpusim::box::take_memory(0, 3);
    CHECK(gpusim::box::memory_used(0) == 3);
    CHECK(processes() == 1);
}

// bins    |  0  |  1  |  2  |  3  |  4  |     100 ms each
// busy    |  ###|#####|#    |     | ####|
TEST_CASE("busy time falls into bins, and the share is taken over whole bins", "[box_state]") {
    gpusim::box::count_busy(0, Engine::compute, kStart + 50 * kMs, kStart + 220 * kMs);
    gpusim::box::count_busy(0, Engine::compute, kStart + 420 * kMs, kStart + 500 * kMs);
    CHECK(compute_share(kStart + 500 * kMs, 500 * kMs) == Approx(0.5));
    CHECK(compute_share(kStart + 499 * kMs, 100 * kMs) == 0.0);
    CHECK(compute_share(kStart + 599 * kMs, 100 * kMs) == Approx(0.8));
    CHECK(compute_share(kStart + 200 * kMs, 100 * kMs) == 1.0);
    CHECK(compute_share(kStart + 200 * kMs, 200 * kMs) == Approx(0.75));
    CHECK(gpusim::box::busy_share(0, Engine::copy, kStart + 500 * kMs, 500 * kMs) == 0.0);
    CHECK(gpusim::box::busy_share(1, Engine::compute, kStart + 500 * kMs, 500 * kMs) == 0.0);
}

// stream 1  |####### |
// stream 2  |  ##    |      inside: counted once
// stream 3  |     ###|
TEST_CASE("operations that overlap are counted once", "[box_state]") {
    gpusim::box::count_busy(0, Engine::compute, kStart, kStart + 70 * kMs);
    gpusim::box::count_busy(0, Engine::compute, kStart + 20 * kMs, kStart + 40 * kMs);
    gpusim::box::count_busy(0, Engine::compute, kStart + 50 * kMs, kStart + 80 * kMs);
    CHECK(compute_share(kStart + 100 * kMs, 100 * kMs) == Approx(0.8));
    CHECK(gpusim::box::busy_ns(0, Engine::compute) == 80 * kMs);
}

TEST_CASE("the busy share of several processes adds up, to one at most", "[box_state]") {
    OtherProcess other([] { gpusim::box::count_busy(0, Engine::compute, kStart, kStart + 60 * kMs); });
    gpusim::box::count_busy(0, Engine::compute, kStart, kStart + 30 * kMs);
    CHECK(compute_share(kStart + 100 * kMs, 100 * kMs) == Approx(0.9));
    CHECK(gpusim::box::busy_share(gpusim::box::mine(), 0, Engine::compute, kStart + 100 * kMs, 100 * kMs) ==
          Approx(0.3));
    gpusim::box::count_busy(0, Engine::compute, kStart, kStart + 60 * kMs);
    CHECK(compute_share(kStart + 100 * kMs, 100 * kMs) == 1.0);
}

TEST_CASE("work queued seconds ahead does not hide the present", "[box_state]") {
    for (int i = 0; i < 50; ++i)
        gpusim::box::count_busy(0, Engine::compute, kStart + i * 100 * kMs, kStart + (i * 100 + 50) * kMs);
    CHECK(compute_share(kStart + 1000 * kMs, 1000 * kMs) == Approx(0.5));
    CHECK(compute_share(kStart + 5000 * kMs, 1000 * kMs) == Approx(0.5));
}

TEST_CASE("a bin that comes round again starts from nothing", "[box_state]") {
    const Ns next_round = kStart + kBins * kBinNs;
    gpusim::box::count_busy(0, Engine::compute, kStart, kStart + 100 * kMs);
    gpusim::box::count_busy(0, Engine::compute, next_round, next_round + 20 * kMs);
    CHECK(compute_share(next_round + 100 * kMs, 100 * kMs) == Approx(0.2));
    CHECK(compute_share(kStart + 100 * kMs, 100 * kMs) == 0.0);
}

TEST_CASE("an operation longer than all bins counts in full", "[box_state]") {
    gpusim::box::count_busy(0, Engine::compute, kStart, kStart + 60'000 * kMs);
    CHECK(gpusim::box::busy_ns(0, Engine::compute) == 60'000 * kMs);
    CHECK(compute_share(kStart + 60'000 * kMs, 1000 * kMs) == 1.0);
}

TEST_CASE("the bell wakes those who wait for it, and only news keep them from sleeping", "[box_state]") {
    const uint32_t before = gpusim::box::bell();
    gpusim::box::wait_bell(before, 5 * kMs);
    CHECK(gpusim::box::bell() == before);
    OtherProcess other([] { gpusim::box::ring_bell(); });
    CHECK(gpusim::box::bell() == before + 1);
    gpusim::box::wait_bell(before, 3600 * 1000 * kMs);  // has rung: returns at once
}

}  // namespace box_state_test
