#include "engine/cpu_clock.h"

#include <dlfcn.h>
#include <time.h>

#include <thread>

#include "box.h"

namespace cpu_clock_test {

using namespace gpusim;

namespace {

Ns machine(clockid_t id) {
    timespec t;
    clock_gettime(id, &t);
    return Ns{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

Ns ran() {
    uint64_t ns = 0;
    gpushim_test_cpu_clock(&ns);
    return static_cast<Ns>(ns);
}

}  // namespace

TEST_CASE("in stepped time work runs, waiting does not", "[cpu_clock]") {
    ::box::knobs("GPUSIM_CLOCK=stepped");
    const Ns start = clock::now();
    CHECK(ran() == 0);
    gpusim_advance_ns(30);
    clock::work_until(start + 100);
    CHECK(ran() == 100);
    gpusim_block_ns(1'000);
    clock::sleep_until(start + 5'000);
    CHECK(clock::now() == start + 5'000);
    CHECK(ran() == 100);
    clock::work_until(start + 4'000);  // the past
    CHECK(ran() == 100);
}

TEST_CASE("in stepped time a thread runs by what it does itself", "[cpu_clock]") {
    ::box::knobs("GPUSIM_CLOCK=stepped");
    gpusim_advance_ns(10);
    std::thread([] {
        CHECK(ran() == 0);
        gpusim_advance_ns(500);
        CHECK(ran() == 500);
    }).join();
    CHECK(ran() == 10);
}

TEST_CASE("what a host function advances is no thread's", "[cpu_clock]") {
    ::box::knobs("GPUSIM_CLOCK=stepped");
    Ns into = 0;
    clock::collect_advances(&into);
    gpusim_advance_ns(70);
    clock::collect_advances(nullptr);
    CHECK(into == 70);
    CHECK(ran() == 0);
}

TEST_CASE("in real time a blocked thread sleeps, and its CPU clock is the machine's", "[cpu_clock]") {
    constexpr Ns kLong = 30'000'000;
    CHECK(dlsym(RTLD_DEFAULT, "gpushim_test_cpu_clock") == nullptr);
    const Ns start = clock::now();
    const Ns cpu = machine(CLOCK_THREAD_CPUTIME_ID);
    gpusim_block_ns(kLong);
    CHECK(clock::now() >= start + kLong);
    CHECK(machine(CLOCK_THREAD_CPUTIME_ID) - cpu < kLong / 10);
}

}  // namespace cpu_clock_test
