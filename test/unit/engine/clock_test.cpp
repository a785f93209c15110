#include "engine/clock.h"

#include <dlfcn.h>
#include <sys/prctl.h>
#include <time.h>

#include <thread>

#include "box.h"

namespace clock_test {

using namespace gpusim;

namespace {

Ns machine(clockid_t id) {
    timespec t;
    clock_gettime(id, &t);
    return Ns{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

}  // namespace

TEST_CASE("the real clock is CLOCK_MONOTONIC", "[clock]") {
    const Ns before = machine(CLOCK_MONOTONIC);
    const Ns now = clock::now();
    CHECK(before <= now);
    CHECK(now <= machine(CLOCK_MONOTONIC));
    CHECK_FALSE(clock::stepped());
}

TEST_CASE("in real time, work is spun away and sleep is not", "[clock]") {
    constexpr Ns kLong = 30'000'000;
    Ns cpu = machine(CLOCK_THREAD_CPUTIME_ID);
    Ns end = clock::now() + kLong;
    clock::sleep_until(end);
    CHECK(clock::now() >= end);
    const Ns cpu_of_sleep = machine(CLOCK_THREAD_CPUTIME_ID) - cpu;
    CHECK(cpu_of_sleep < kLong / 3);
    cpu = machine(CLOCK_THREAD_CPUTIME_ID);
    end = clock::now() + kLong;
    clock::work_until(end);
    CHECK(clock::now() >= end);
    CHECK(machine(CLOCK_THREAD_CPUTIME_ID) - cpu > cpu_of_sleep);
    end = clock::now() + 1'000'000;
    gpusim_advance_ns(1'000'000);
    CHECK(clock::now() >= end);
}

TEST_CASE("in real time nobody is offered a virtual clock", "[clock]") {
    CHECK(dlsym(RTLD_DEFAULT, "gpushim_test_clock") == nullptr);
    CHECK(dlsym(RTLD_DEFAULT, "gpusim_advance_ns") != nullptr);
}

TEST_CASE("stepped time stands still until it is moved", "[clock]") {
    ::box::knobs("GPUSIM_CLOCK=stepped");
    CHECK(clock::stepped());
    const Ns start = clock::now();
    CHECK(start == 1'000'000'000);
    CHECK(clock::now() == start);
    gpusim_advance_ns(5);
    CHECK(clock::now() == start + 5);
    clock::work_until(start + 100);
    CHECK(clock::now() == start + 100);
    clock::sleep_until(start + 200);
    CHECK(clock::now() == start + 200);
    clock::sleep_until(start + 150);
    CHECK(clock::now() == start + 200);
}

TEST_CASE("stepped time is offered to recorders", "[clock]") {
    ::box::knobs("GPUSIM_CLOCK=stepped");
    using Read = void (*)(uint64_t*, uint64_t*);
    const auto read = reinterpret_cast<Read>(dlsym(RTLD_DEFAULT, "gpushim_test_clock"));
    REQUIRE(read != nullptr);
    uint64_t mono = 0, real = 0, mono_later = 0, real_later = 0;
    read(&mono, &real);
    gpusim_advance_ns(77);
    read(&mono_later, &real_later);
    CHECK(mono == 1'000'000'000);
    CHECK(mono_later == mono + 77);
    CHECK(real_later == real + 77);
    CHECK(static_cast<Ns>(real) == clock::now() - 77 + clock::calendar_ahead());
}

TEST_CASE("a thread may collect its advances instead of moving time", "[clock]") {
    ::box::knobs("GPUSIM_CLOCK=stepped");
    const Ns start = clock::now();
    Ns collected = 0;
    clock::collect_advances(&collected);
    gpusim_advance_ns(30);
    gpusim_advance_ns(12);
    CHECK(collected == 42);
    CHECK(clock::now() == start);
    clock::collect_advances(nullptr);
    gpusim_advance_ns(1);
    CHECK(clock::now() == start + 1);
}

// program   1s ........ +50 ............. +300
// recorder  1s .. +200        +200 +210         +300
TEST_CASE("a recorder's thread has time of its own, never behind the program's", "[clock]") {
    ::box::knobs("GPUSIM_CLOCK=stepped");
    const Ns start = clock::now();
    std::thread([&] {
        prctl(PR_SET_NAME, "gpushim");
        CHECK(clock::beside_program());
        clock::work_until(start + 200);
        CHECK(clock::now() == start + 200);
        std::thread([&] {
            prctl(PR_SET_NAME, "program");
            CHECK_FALSE(clock::beside_program());
            CHECK(clock::now() == start);
            gpusim_advance_ns(50);
        }).join();
        CHECK(clock::now() == start + 200);
        gpusim_advance_ns(10);
        CHECK(clock::now() == start + 210);
        uint64_t mono = 0, real = 0;
        gpushim_test_clock(&mono, &real);
        CHECK(mono == static_cast<uint64_t>(start + 210));
        std::thread([] {
            prctl(PR_SET_NAME, "program");
            clock::sleep_until(1'000'000'300);
        }).join();
        CHECK(clock::now() == start + 300);
    }).join();
    CHECK(clock::now() == start + 300);
}

TEST_CASE("a program that has the recorder's name is a program", "[clock]") {
    ::box::knobs("GPUSIM_CLOCK=stepped");
    prctl(PR_SET_NAME, "gpushim");
    CHECK_FALSE(clock::beside_program());
}

// device  0....100........211|+5000
// host    0....100....200(jump)
TEST_CASE("the device's clock drifts and jumps as told", "[clock]") {
    ::box::knobs("GPUSIM_CLOCK=stepped GPUSIM_CLOCK_DRIFT_PPM=50000 GPUSIM_CLOCK_JUMP_US=200:5");
    const Ns origin = clock::origin();
    CHECK(clock::device_ns(origin) == 0.0);
    CHECK(clock::device_ns(origin + 100'000) == Approx(105'000.0));
    CHECK(clock::device_ns(origin + 199'999) == Approx(209'998.95));
    CHECK(clock::device_ns(origin + 200'000) == Approx(215'000.0));
}

}  // namespace clock_test
