// Ways of making the same call, measured in turns: whatever else the machine does meets all of them.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <vector>

#include "driver.h"

namespace bench {

constexpr int kRounds = 400;
constexpr int kBurst = 700;  // four of these fit in a ring of 4096 slots
constexpr int kRoundsPerRest = 4;
constexpr int kRestUs = 30'000;  // the writer has emptied the ring by then
constexpr int kColdCalls = 3000;
constexpr size_t kColdBytes = 256 * 1024;

struct Way {
    const char* name;
    void (*launch)(const Driver&, int);
    std::vector<double> ticks;
};

inline volatile uint64_t sink;

// Apart and not inlined: tools that count go by their names.
__attribute__((noinline)) inline void launch_plain(const Driver& driver, int count) {
    for (int i = 0; i < count; ++i) driver.launch(driver.plain);
}
__attribute__((noinline)) inline void launch_stamped(const Driver& driver, int count) {
    for (int i = 0; i < count; ++i) {
        const uint64_t enter = ticks();
        driver.launch(driver.plain);
        sink = ticks() - enter;
    }
}
__attribute__((noinline)) inline void launch_through(const Driver& driver, int count) {
    for (int i = 0; i < count; ++i) driver.launch(driver.through);
}

// With two time stamps and a walk over memory, each place found through the one before: what this machine
// takes for data that are not near. As a program's and a library's own, they lie far apart: each needs an
// entry of its own at each level of address translation.
constexpr int kWalk = 16;
constexpr size_t kFarBytes = (2U << 20) + 4096 + 64;

struct FarPlace {
    const FarPlace* next;
};
inline const FarPlace* far_places;

inline void make_far_places() {
    void* made = mmap(nullptr, kWalk * kFarBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) std::abort();
    madvise(made, kWalk * kFarBytes, MADV_NOHUGEPAGE);
    char* memory = static_cast<char*>(made);
    const auto place = [memory](int i) {
        return reinterpret_cast<FarPlace*>(memory + static_cast<size_t>(i % kWalk) * kFarBytes);
    };
    for (int i = 0; i < kWalk; ++i) place(i)->next = place(i * 5 + 3);
    far_places = place(0);
}
__attribute__((noinline)) inline void launch_and_walk(const Driver& driver, int count) {
    launch_stamped(driver, count);
    const FarPlace* place = far_places;
    for (int i = 0; i < kWalk; ++i) place = place->next;
    sink = reinterpret_cast<uint64_t>(place);
}

inline void measure_bursts(const Driver& driver, std::vector<Way>& ways, bool rests) {
    for (int round = 0; round < kRounds; ++round) {
        for (Way& way : ways) {
            const uint64_t begin = ticks();
            way.launch(driver, kBurst);
            way.ticks.push_back(static_cast<double>(ticks() - begin) / kBurst);
        }
        if (rests && round % kRoundsPerRest == kRoundsPerRest - 1) usleep(kRestUs);
    }
}

// Each call by itself, after its caches have been filled with something else.
inline void measure_cold(const Driver& driver, std::vector<Way>& ways) {
    std::vector<uint64_t> memory(kColdBytes / sizeof(uint64_t));
    std::atomic<int> fence{0};
    for (int call = 0; call < kColdCalls; ++call)
        for (Way& way : ways) {
            for (size_t i = 0; i < memory.size(); i += 8) memory[i] += i;
            // A full fence: no store above is still under way. (TSan knows no bare fences.)
            fence.exchange(1);
            const uint64_t begin = ticks_in_order();
            way.launch(driver, 1);
            way.ticks.push_back(static_cast<double>(ticks_in_order() - begin));
        }
}

// Of each way the shortest, the median, and the mean of the middle half: a tick may be coarse.
inline void print(std::vector<Way>& ways) {
    const double ns = tick_ns();
    for (Way& way : ways) {
        std::sort(way.ticks.begin(), way.ticks.end());
        const auto quarter = static_cast<std::ptrdiff_t>(way.ticks.size() / 4);
        const double middle = std::accumulate(way.ticks.begin() + quarter, way.ticks.end() - quarter, 0.0) /
                              static_cast<double>(way.ticks.size() - 2 * static_cast<size_t>(quarter));
        std::printf("%s_min_ns %.2f %s_median_ns %.2f %s_middle_ns %.2f ", way.name, way.ticks.front() * ns,
                    way.name, way.ticks[way.ticks.size() / 2] * ns, way.name, middle * ns);
    }
    std::printf("\n");
}

}  // namespace bench
