#include "window_rows.h"

#include <algorithm>

namespace gpushim::shim {
namespace {

constexpr int64_t kLongestWaitNs = 10'000'000'000;

int64_t count_in(const std::deque<int64_t>& times, const Window& window) {
    return std::ranges::count_if(times,
                                 [&](int64_t ns) { return ns >= window.from_ns && ns < window.until_ns; });
}

}  // namespace

void WindowRows::given(int64_t device, int64_t enter_ns) { devices_[device].given.push_back(enter_ns); }
void WindowRows::timed(int64_t device, int64_t enter_ns) { devices_[device].timed.push_back(enter_ns); }
void WindowRows::add(const Window& window) { closed_.push_back(window); }

void WindowRows::finish(int64_t now_ns, int64_t unknown_ns, int64_t unstored_ns, bool ending) {
    while (!closed_.empty()) {
        const Window& window = closed_.front();
        const bool is_known = unknown_ns >= window.until_ns && unstored_ns >= window.until_ns;
        if (!is_known && !ending && now_ns - window.until_ns < kLongestWaitNs) return;
        write(window);
        forget_before(window.until_ns);
        closed_.pop_front();
    }
}

void WindowRows::write(const Window& window) {
    for (const auto& [device, operations] : devices_) {
        const int64_t given = count_in(operations.given, window);
        if (given == 0) continue;
        rows.add(window.from_ns, device, window.until_ns - window.from_ns, window.slot, window.planned_ns,
                 given, count_in(operations.timed, window), window.legacy_events, window.own_host_ns);
    }
}

void WindowRows::forget_before(int64_t ns) {
    for (auto& [device, operations] : devices_)
        for (auto* times : {&operations.given, &operations.timed})
            std::erase_if(*times, [&](int64_t enter_ns) { return enter_ns < ns; });
}

}  // namespace gpushim::shim
