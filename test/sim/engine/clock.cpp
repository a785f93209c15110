#include "clock.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cpu_clock.h"
#include "hide_export.h"
#include "knobs.h"

namespace gpusim::clock {
namespace {

constexpr Ns kVirtualStart = 1'000'000'000;
constexpr Ns kVirtualRealtimeAhead = 1'700'000'000LL * 1'000'000'000;  // CLOCK_REALTIME - CLOCK_MONOTONIC
// A sleep overshoots by about 60 us (timer slack), so the last part is spun.
constexpr Ns kSpinInstead = 80'000;

std::atomic<Ns> virtual_now{kVirtualStart};

// The recorder's own thread, by the name it gives itself. On a machine it runs beside the program: what it
// does takes none of the program's time.
constexpr const char* kRecorderThread = "gpushim";

bool is_recorder_thread() {
    char name[16] = {};
    prctl(PR_GET_NAME, name);
    return std::strcmp(name, kRecorderThread) == 0 && syscall(SYS_gettid) != getpid();
}

// That thread's time is the program's, or where its own calls have brought it, if that is later.
thread_local Ns own_now = 0;

// Of a thread that is shown a time of its own (nccl/service.h).
thread_local Ns shown_now = 0;

// Host functions run beside the program: what they advance is their own duration (host_function.cpp).
thread_local Ns* private_advance = nullptr;

Ns machine(clockid_t id) {
    timespec t;
    clock_gettime(id, &t);
    return Ns{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

Ns monotonic() { return machine(CLOCK_MONOTONIC); }

// From the narrowest of some readings: a thread can lose the processor between two of them.
Ns machines_calendar_ahead() {
    constexpr int kReadings = 5;
    Ns narrowest = INT64_MAX, ahead = 0;
    for (int i = 0; i < kReadings; ++i) {
        const Ns before = monotonic();
        const Ns calendar = machine(CLOCK_REALTIME);
        const Ns width = monotonic() - before;
        if (width >= narrowest) continue;
        narrowest = width;
        ahead = calendar - before - width / 2;
    }
    return ahead;
}

Ns stepped_now() {
    if (shown_now != 0) return shown_now;
    const Ns shared = virtual_now.load(std::memory_order_relaxed);
    return beside_program() ? std::max(shared, own_now) : shared;
}

void advance_to(Ns end) {
    if (beside_program()) {
        own_now = std::max(own_now, end);
        return;
    }
    Ns seen = virtual_now.load(std::memory_order_relaxed);
    while (seen < end && !virtual_now.compare_exchange_weak(seen, end, std::memory_order_relaxed)) {
    }
}

struct Jump {
    Ns at = 0;
    Ns by = 0;
};

Jump read_jump() {
    double at_us = 0, by_us = 0;
    const auto& text = knobs().clock_jump_us;
    if (text.empty()) return {};
    if (std::sscanf(text.c_str(), "%lf:%lf", &at_us, &by_us) != 2) {
        std::fprintf(stderr, "gpusim: GPUSIM_CLOCK_JUMP_US=%s is not <at>:<by>\n", text.c_str());
        std::_Exit(2);
    }
    return {static_cast<Ns>(at_us * 1e3), static_cast<Ns>(by_us * 1e3)};
}

__attribute__((constructor)) void offer_test_clock() {
    if (!stepped()) hide_export(reinterpret_cast<const void*>(&gpushim_test_clock), "gpushim_test_clock");
}

}  // namespace

bool stepped() {
    static const bool is_stepped = knobs().clock == "stepped";
    return is_stepped;
}

bool beside_program() {
    thread_local const bool is_beside = is_recorder_thread();
    return stepped() && is_beside;
}

Ns now() { return stepped() ? stepped_now() : monotonic(); }

void show(Ns at) { shown_now = at; }

void work_until(Ns end) {
    if (stepped()) {
        cpu_clock::ran(end - now());
        return advance_to(end);
    }
    while (monotonic() < end) {
    }
}

void sleep_until(Ns end) {
    if (stepped()) return advance_to(end);
    const Ns wake = end - kSpinInstead;
    if (monotonic() < wake) {
        const timespec t{wake / 1'000'000'000, wake % 1'000'000'000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr);
    }
    work_until(end);
}

double device_ns(Ns host) {
    static const Jump jump = read_jump();
    const Ns since = host - origin();
    const double drift = static_cast<double>(since) * (1.0 + knobs().clock_drift_ppm * 1e-6);
    return drift + static_cast<double>(jump.by != 0 && since >= jump.at ? jump.by : 0);
}

Ns origin() {
    static const Ns first = now();
    return first;
}

Ns calendar_ahead() { return stepped() ? kVirtualRealtimeAhead : machines_calendar_ahead(); }

void collect_advances(Ns* into) { private_advance = into; }

}  // namespace gpusim::clock

void gpusim_advance_ns(uint64_t ns) {
    using namespace gpusim;
    const Ns by = static_cast<Ns>(ns);
    if (!clock::stepped()) return clock::work_until(clock::now() + by);
    if (clock::private_advance != nullptr) {
        *clock::private_advance += by;
        return;
    }
    cpu_clock::ran(by);
    if (clock::beside_program()) return clock::advance_to(clock::now() + by);
    clock::virtual_now.fetch_add(by, std::memory_order_relaxed);
}

void gpushim_test_clock(uint64_t* mono_ns, uint64_t* real_ns) {
    using namespace gpusim;
    const Ns now = clock::now();
    *mono_ns = static_cast<uint64_t>(now);
    *real_ns = static_cast<uint64_t>(now + clock::calendar_ahead());
}
