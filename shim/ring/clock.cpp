#include "clock.h"

#include <dlfcn.h>
#include <fcntl.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cstring>

#include "../base/system.h"
#include "test_clock.h"

namespace gpushim::shim {
namespace {

using TestClock = void (*)(uint64_t* mono_ns, uint64_t* real_ns);
constinit TestClock test_clock = nullptr;

constexpr int kReadings = 5;
constexpr int64_t kCheckNs = 20'000;
constexpr uint64_t kLeastTicksPerCheck = 20;  // 1 MHz

uint64_t counter() {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    uint64_t value;
    asm volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#endif
}

bool is_invariant() {
#if defined(__x86_64__)
    unsigned a, b, c, d = 0;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & 1u << 8) != 0;
#else
    return true;
#endif
}

bool kernel_trusts_counter() {
    const int file =
        open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    char name[32] = {};
    const ssize_t length = read(file, name, sizeof name - 1);
    close(file);
    return length > 0 && (strcmp(name, "tsc\n") == 0 || strcmp(name, "arch_sys_counter\n") == 0);
}

uint64_t ticks_while(int64_t ns) {
    const ClockPair from = read_pair(kCounter);
    while (clock_ns(CLOCK_MONOTONIC) - from.mono_ns < ns) {
    }
    const ClockPair to = read_pair(kCounter);
    const auto passed = static_cast<uint64_t>(to.mono_ns - from.mono_ns);
    // Scaled to the span asked for: the loop ends a little late.
    return (to.ticks - from.ticks) * static_cast<uint64_t>(ns) / (passed != 0 ? passed : 1);
}

// It goes on, and at one pace.
bool counter_keeps_pace() {
    const uint64_t first = ticks_while(kCheckNs);
    const uint64_t second = ticks_while(kCheckNs);
    const uint64_t apart = first > second ? first - second : second - first;
    return first >= kLeastTicksPerCheck && apart <= first / 50;
}

ClockPair read_counter_pair() {
    ClockPair best = {};
    uint64_t best_width = UINT64_MAX;
    for (int i = 0; i < kReadings; ++i) {
        const uint64_t before = counter();
        const int64_t mono_ns = clock_ns(CLOCK_MONOTONIC);
        const uint64_t after = counter();
        if (after - before >= best_width) continue;
        best_width = after - before;
        best = {before + best_width / 2, mono_ns, clock_ns(CLOCK_REALTIME)};
    }
    return best;
}

}  // namespace

void* optional_function(const char* name) {
    if (void* found = dlsym(RTLD_DEFAULT, name)) return found;
    void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (driver == nullptr) return nullptr;
    void* found = dlsym(driver, name);
    dlclose(driver);
    return found;
}

ClockKind choose_clock() {
    test_clock = reinterpret_cast<TestClock>(optional_function("gpushim_test_clock"));
    if (test_clock != nullptr) return kTestClock;
    const bool good =
        is_invariant() && kernel_trusts_counter() && (counter_keeps_pace() || counter_keeps_pace());
    return good ? kCounter : kMonotonic;
}

ClockPair read_pair(ClockKind kind) {
    if (kind == kCounter) return read_counter_pair();
    if (kind == kMonotonic) {
        const int64_t mono_ns = clock_ns(CLOCK_MONOTONIC);
        return {static_cast<uint64_t>(mono_ns), mono_ns, clock_ns(CLOCK_REALTIME)};
    }
    uint64_t mono_ns = 0;
    uint64_t real_ns = 0;
    test_clock(&mono_ns, &real_ns);
    return {mono_ns, static_cast<int64_t>(mono_ns), static_cast<int64_t>(real_ns)};
}

uint64_t slow_ticks() {
    // A child of a fork in the middle of a call finds no kind but the first.
    if (process_state->clock_kind == kTestClock) {
        const uint64_t now = read_pair(kTestClock).ticks;
        let_writer_pass(now);
        return now;
    }
    return static_cast<uint64_t>(clock_ns(CLOCK_MONOTONIC));
}

int64_t trace_now_ns() {
    const auto kind = static_cast<ClockKind>(process_state->clock_kind);
    return kind == kTestClock ? read_pair(kind).mono_ns : clock_ns(CLOCK_MONOTONIC);
}

}  // namespace gpushim::shim
