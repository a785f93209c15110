#include "heap.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace gpushim::analysis {

namespace {
constexpr int kAtOnce = 128 << 20;  // bytes of addresses, not of memory
constexpr uintptr_t kLargePage = 2 << 20;

uintptr_t end_of_heap() { return reinterpret_cast<uintptr_t>(sbrk(0)); }
}  // namespace

void use_large_pages() {
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, kAtOnce);
    mallopt(M_TOP_PAD, kAtOnce);
    mallopt(M_ARENA_MAX, 1);
    const uintptr_t begin = end_of_heap() + kLargePage - 1;
    void* volatile large = std::malloc(kAtOnce / 8);  // now there is so much more of it
    std::free(large);
    const uintptr_t first = begin / kLargePage * kLargePage, end = end_of_heap() / kLargePage * kLargePage;
    // Where there are none, memory comes in small ones.
    if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

}  // namespace gpushim::analysis
