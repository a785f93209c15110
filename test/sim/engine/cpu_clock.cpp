#include "cpu_clock.h"

#include <time.h>

#include "hide_export.h"

namespace gpusim::cpu_clock {
namespace {

thread_local Ns running_ns = 0;

__attribute__((constructor)) void offer_test_cpu_clock() {
    if (!clock::stepped())
        hide_export(reinterpret_cast<const void*>(&gpushim_test_cpu_clock), "gpushim_test_cpu_clock");
}

}  // namespace

void ran(Ns ns) {
    if (ns > 0) running_ns += ns;
}

}  // namespace gpusim::cpu_clock

void gpusim_block_ns(uint64_t ns) {
    using namespace gpusim;
    if (clock::stepped()) return clock::sleep_until(clock::now() + static_cast<Ns>(ns));
    // Not sleep_until: that spins for the last part.
    timespec left{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
    while (nanosleep(&left, &left) != 0) {
    }
}

void gpushim_test_cpu_clock(uint64_t* ns) { *ns = static_cast<uint64_t>(gpusim::cpu_clock::running_ns); }
