#include "window_rows.h"

#include <algorithm>

#include "../base/rounding.h"

namespace gpushim::shim {
namespace {

constexpr int64_t kLongestWaitNs = 10'000'000'000;

constexpr size_t kMostMoments = 1 << 17;
constexpr size_t kTogether = 8;

}  // namespace

void WindowRows::Moments::add(int64_t ns) {
    all_.push_back({ns, ns, 1});
    if (all_.size() < kMostMoments) return;
    std::vector<Some> fewer;
    const size_t half = all_.size() / 2;
    for (size_t i = 0; i < half; ++i) {
        if (i % kTogether == 0) fewer.push_back({INT64_MAX, INT64_MIN, 0});
        Some& some = fewer.back();
        some = {std::min(some.first_ns, all_[i].first_ns), std::max(some.last_ns, all_[i].last_ns),
                some.count + all_[i].count};
    }
    fewer.insert(fewer.end(), all_.begin() + static_cast<long>(half), all_.end());
    all_.swap(fewer);
}

// Of those kept together that a window begins or ends among, its share.
int64_t WindowRows::Moments::count_in(const Window& window) const {
    double count = 0;
    for (const Some& some : all_) {
        const int64_t from_ns = std::max(some.first_ns, window.from_ns);
        const int64_t until_ns = std::min(some.last_ns + 1, window.until_ns);
        if (until_ns <= from_ns) continue;
        const auto all = static_cast<double>(some.last_ns + 1 - some.first_ns);
        count += static_cast<double>(some.count) * static_cast<double>(until_ns - from_ns) / all;
    }
    return rounded(count);
}

void WindowRows::Moments::forget_before(int64_t ns) {
    std::erase_if(all_, [&](const Some& some) { return some.last_ns < ns; });
}

void WindowRows::device(int64_t device) { devices_.try_emplace(device); }
void WindowRows::given(int64_t device, int64_t enter_ns) { devices_[device].given.add(enter_ns); }
void WindowRows::timed(int64_t device, int64_t enter_ns) { devices_[device].timed.add(enter_ns); }
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
        rows.add({.enter_ns = window.from_ns,
                  .device_id = device,
                  .dur_ns = window.until_ns - window.from_ns,
                  .slot = window.slot,
                  .planned_ns = window.planned_ns,
                  .operations = operations.given.count_in(window),
                  .timed = operations.timed.count_in(window),
                  .legacy_events = window.legacy_events,
                  .own_host_ns = window.own_host_ns});
    }
}

void WindowRows::forget_before(int64_t ns) {
    for (auto& [device, operations] : devices_) {
        operations.given.forget_before(ns);
        operations.timed.forget_before(ns);
    }
}

}  // namespace gpushim::shim
