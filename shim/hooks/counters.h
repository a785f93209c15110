// What the doors could not do, and, once asked for, how often each row was hit. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "../calls/api.h"

namespace gpushim::shim {

struct Counters {
    std::atomic<uint32_t> counting;     // hits are counted from the first question for one
    std::atomic<uint64_t> untouched;    // addresses of hooked names handed out as they were found
    std::atomic<uint64_t> unknown_abi;  // versions asked for that the tables do not know
    std::atomic<uint64_t> hits[kApis];
};
extern constinit Counters counters;

inline void count_hit(ApiId api) {
    // Relaxed: counts that nobody orders anything by.
    if (counters.counting.load(std::memory_order_relaxed) != 0) [[unlikely]]
        counters.hits[api].fetch_add(1, std::memory_order_relaxed);
}

}  // namespace gpushim::shim

extern "C" {
// How often the program called this exported name since the first time this was asked; with "untouched" and
// "unknown_abi" the doors' own counts. Null only begins to count.
uint64_t gpushim_hits(const char* name);

// The rows of the hook tables, for those who list them: 1, or 0 past the end.
int gpushim_hook(unsigned index, const char** name, const char** kind);
}
