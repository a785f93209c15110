// The third door: what cuGetProcAddress found is known by identity, never by reasoning about names and
// versions; those only choose where several exports have one address, or where the driver has given an
// address that is no export's.
#include "../calls/elf.h"
#include "../calls/resolve.h"
#include "../lifecycle.h"
#include "counters.h"
#include "doors.h"

namespace gpushim::shim {
namespace {

constexpr uint64_t kPerThreadAsked = 2;
constexpr int kNone = -1;

// By the rules of cuGetProcAddress: the newest form not above the version, for the stream that was asked for.
bool is_better(const ApiTraits& row, int than, uint64_t flags) {
    if (than == kNone) return true;
    const ApiTraits& other = api_traits[than];
    const bool wanted = (flags & kPerThreadAsked) != 0;
    const bool row_fits = ((row.traits & traits::per_thread) != 0) == wanted;
    const bool other_fits = ((other.traits & traits::per_thread) != 0) == wanted;
    return row_fits != other_fits ? row_fits : row.version > other.version;
}

bool is_choice(const ApiTraits& row, int version, uint64_t flags) {
    return row.version <= version &&
           ((flags & kPerThreadAsked) != 0 || (row.traits & traits::per_thread) == 0);
}

// The row for what was asked, among those at `address`, or among all where that is null.
int best_row(const char* symbol, const void* address, int version, uint64_t flags) {
    int best = kNone;
    for (int api = 0; api < kApis && api_traits[api].version != 0; ++api) {
        const ApiTraits& row = api_traits[api];
        if (!same_text(row.base, symbol)) continue;
        if (address != nullptr ? library_export(static_cast<ApiId>(api)) != address &&
                                     original(static_cast<ApiId>(api)) != address
                               : !is_choice(row, version, flags))
            continue;
        if (is_better(row, best, flags)) best = api;
    }
    return best;
}

bool is_hooked_base(const char* symbol) {
    return best_row(symbol, nullptr, 1 << 30, kPerThreadAsked) != kNone;
}

// A tool behind us means a function of its own and hands out ours: the linker has bound the name to us.
void* meant_by_name(void* ours, const void* caller) {
    for (int api = 0; api < kApis && api_traits[api].version != 0; ++api)
        if (ours == entry_of(static_cast<ApiId>(api))) return past_us(static_cast<ApiId>(api), ours, caller);
    return ours;
}

}  // namespace

void* swapped_proc_address(const char* symbol, void* found, int version, uint64_t flags, const void* caller) {
    if (symbol == nullptr || found == nullptr || !is_hooked_base(symbol)) return found;
    if (is_ours(found)) return meant_by_name(found, caller);
    if (disabled() || is_in_driver(caller)) return found;
    int row = best_row(symbol, found, version, flags);
    if (row != kNone) return swapped(static_cast<ApiId>(row), found, caller);
    if (version > kNewestKnown) {
        counters.unknown_abi.fetch_add(1, std::memory_order_relaxed);
        return found;
    }
    row = best_row(symbol, nullptr, version, flags);
    if (row == kNone) return found;
    // The driver's own, though not at its export's address: the same function by its documentation.
    return is_in_library(found) ? entry_of(static_cast<ApiId>(row))
                                : swapped(static_cast<ApiId>(row), found, caller);
}

}  // namespace gpushim::shim
