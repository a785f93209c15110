#include "programmatic.h"

#include <atomic>
#include <cstddef>

namespace gpushim::shim {
namespace {

constexpr size_t kPlaces = 1024;  // a power of two

constinit std::atomic<uint64_t> followed[kPlaces] = {};  // functions; 0: none
constinit std::atomic<uint64_t> operations = 0;

std::atomic<uint64_t>& place_of(uint64_t what) { return followed[what * 0x9e3779b97f4a7c15 >> 54]; }
static_assert(kPlaces == size_t{1} << (64 - 54));

}  // namespace

void note_programmatic_successor(uint64_t what) { place_of(what).store(what, std::memory_order_relaxed); }

bool has_programmatic_successor(uint64_t what) {
    return what != 0 && place_of(what).load(std::memory_order_relaxed) == what;
}

void count_programmatic() { operations.fetch_add(1, std::memory_order_relaxed); }
uint64_t programmatic_operations() { return operations.load(std::memory_order_relaxed); }

void forget_programmatic() {
    for (auto& place : followed) place.store(0, std::memory_order_relaxed);
    operations.store(0, std::memory_order_relaxed);
}

}  // namespace gpushim::shim
