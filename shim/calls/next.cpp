#include "next.h"

#include <atomic>

#include "api.h"
#include "elf.h"

namespace gpushim::shim {
namespace {

constinit std::atomic<void*> next_dlsym_address = nullptr;
constinit std::atomic<void*> next_dlvsym_address = nullptr;

void* known(std::atomic<void*>& address, const char* name) {
    // Relaxed: whoever looks finds the same.
    void* found = address.load(std::memory_order_relaxed);
    if (found == nullptr) {
        found = defined_after_us(name);
        address.store(found, std::memory_order_relaxed);
    }
    return found;
}

bool may_be_hooked(const char* name) {
    return (name[0] == 'c' && name[1] == 'u' && ((name[2] >= 'A' && name[2] <= 'Z') || name[2] == 'b')) ||
           (name[0] == 'n' && name[1] == 'c' && name[2] == 'c' && name[3] == 'l');
}

}  // namespace

void* next_dlsym() { return known(next_dlsym_address, "dlsym"); }
void* next_dlvsym() { return known(next_dlvsym_address, "dlvsym"); }

int hooked_name(const char* name) {
    if (!may_be_hooked(name)) return -1;
    for (int api = 0; api < kApis; ++api)
        if (same_text(api_traits[api].name, name)) return api;
    return -1;
}

}  // namespace gpushim::shim
