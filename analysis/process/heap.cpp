#include "heap.h"

#include <malloc.h>

namespace gpushim::analysis {

namespace {
constexpr int kAtOnce = 128 << 20;  // bytes of addresses, not of memory
}  // namespace

void use_one_heap() {
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, kAtOnce);
    mallopt(M_TOP_PAD, kAtOnce);
    mallopt(M_ARENA_MAX, 1);
}

void give_back_heap() { malloc_trim(0); }

}  // namespace gpushim::analysis
