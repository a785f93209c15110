#include "doors.h"

#include <dlfcn.h>

#include "../calls/copies.h"
#include "../calls/next.h"
#include "../calls/resolve.h"
#include "../lifecycle.h"
#include "counters.h"

namespace gpushim::shim {
namespace {

using Dlvsym = void* (*)(void* handle, const char* name, const char* version);

void* look_up(void* handle, const char* name, const char* version) {
    if (version != nullptr) {
        const auto next = reinterpret_cast<Dlvsym>(next_dlvsym());
        return next != nullptr ? next(handle, name, version) : nullptr;
    }
    const auto next = reinterpret_cast<Dlsym>(next_dlsym());
    return next != nullptr ? next(handle, name) : nullptr;
}

// What would be found if we were not there: from here on, "next" is what follows us.
void* look_up_past_us(const char* name) {
    const Dlsym dlsym_itself = dlsym_of_libc();
    return dlsym_itself != nullptr ? dlsym_itself(RTLD_NEXT, name) : nullptr;
}

void* untouched(void* found) {
    counters.untouched.fetch_add(1, std::memory_order_relaxed);
    return found;
}

// A tool behind us that hooks the same names: what it finds for itself is not to lead back to us, and its own
// entry, met for the first time, is where our calls go on.
bool belongs_to_tool(ApiId api, const void* found) {
    void* known = originals[api].load(std::memory_order_acquire);
    if (known != nullptr && !is_in_library(known)) return in_one_object(known, found);
    if (!is_behind_us(found) || is_in_other_copy(api, found)) return false;
    originals[api].store(const_cast<void*>(found), std::memory_order_release);
    return true;
}

}  // namespace

void* swapped(ApiId api, void* found, const void* caller) {
    if (found == nullptr || found == entry_of(api) || disabled()) return found;
    void* known = original(api);
    if (known != nullptr && !is_in_library(known) && in_one_object(known, caller)) return found;
    if (found == known || found == library_export(api)) return entry_of(api);
    if (is_in_library(found) || is_ours(found)) return untouched(found);
    return belongs_to_tool(api, found) ? entry_of(api) : untouched(found);
}

void* past_us(ApiId api, void* ours, const void* caller) {
    void* const next = look_up_past_us(api_traits[api].name);
    if (next == nullptr) dlerror();
    if (next == nullptr) return ours;
    return is_in_driver(caller) ? next : swapped(api, next, caller);
}

void* answer_look_up(ApiId api, void* handle, const char* name, const char* version, const void* caller) {
    void* found = look_up(handle, name, version);
    if (found == nullptr) return nullptr;
    if (is_ours(found)) found = look_up_past_us(name);
    if (!disabled() && api_traits[api].version != 0 && is_in_driver(caller)) {
        driver_has_found(found);
        return found;
    }
    return swapped(api, found, caller);
}

}  // namespace gpushim::shim
