#include "memory_limit.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace gpushim::analysis {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kHasShadow = true;
#elif defined(__has_feature)
constexpr bool kHasShadow = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kHasShadow = false;
#endif

void limit_memory() {
    if (kHasShadow) return;  // a sanitizer's memory of memory: terabytes that are never used
    constexpr uint64_t kLeast = uint64_t{2} << 30;
    const auto pages = static_cast<uint64_t>(std::max(sysconf(_SC_PHYS_PAGES), 0L));
    const auto page_bytes = static_cast<uint64_t>(std::max(sysconf(_SC_PAGESIZE), 0L));
    const rlim_t most = std::max(kLeast, pages * page_bytes / 2);
    rlimit now;
    // What is written to, not addresses: each thread reserves more of these than it will ever use.
    if (getrlimit(RLIMIT_DATA, &now) != 0 || now.rlim_cur <= most) return;
    now.rlim_cur = most;
    setrlimit(RLIMIT_DATA, &now);  // where it is refused there is none, as before
}

}  // namespace gpushim::analysis
