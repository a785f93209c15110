// A process may have two copies of cuBLAS: a framework brings its own, of another version of CUDA. A caller
// is bound to the one that its object needs (DT_NEEDED), so its calls go on there, and handles of the one
// never reach the other. Recorded are calls of the first. Any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "resolve.h"

namespace gpushim::shim {

// Objects that are known to call the first copy; filled from the front, `size` last.
struct KnownCaller {
    std::atomic<uintptr_t> from;
    std::atomic<uintptr_t> size;
};
constexpr size_t kKnownCallers = 16;
extern constinit KnownCaller known_callers[static_cast<size_t>(ApiLibrary::count)][kKnownCallers];

// Where the call of an object that is not known yet goes on; `original` is the first copy's.
void* original_of_caller(ApiId api, const void* caller, void* original);

inline void* original_for(ApiId api, const void* caller) {
    void* const known = original(api);
    if (known == nullptr) return nullptr;
    for (const KnownCaller& one : known_callers[static_cast<size_t>(library_of(api))]) {
        // Acquire: with where it begins, which was stored before.
        const uintptr_t size = one.size.load(std::memory_order_acquire);
        if (size == 0) break;
        if (reinterpret_cast<uintptr_t>(caller) - one.from.load(std::memory_order_relaxed) < size)
            return known;
    }
    return original_of_caller(api, caller, known);
}

// Whether the address is in another copy of the row's library than the first.
bool is_in_other_copy(ApiId api, const void* address);

}  // namespace gpushim::shim
