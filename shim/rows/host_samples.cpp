#include "host_samples.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "../sqlite/rows.h"

namespace gpushim::shim {
namespace {

constexpr size_t kClasses = static_cast<size_t>(HostClass::count);
constexpr const char* kNames[] = {
    "running", "waiting_for_descriptor", "waiting_for_lock", "sleeping", "reading", "disk", "child", "other"};
static_assert(std::size(kNames) == kClasses);

// Of `in_ns`, at the rate of so much of `of_ns`.
int64_t at_rate(int64_t ns, int64_t of_ns, int64_t in_ns) {
    if (of_ns <= 0) return ns;
    return static_cast<int64_t>(static_cast<double>(ns) * static_cast<double>(in_ns) /
                                static_cast<double>(of_ns));
}

}  // namespace

const char* name_of(HostClass what) { return kNames[static_cast<size_t>(what)]; }

void HostSamples::add(uint32_t thread, const HostSample& sample) {
    std::deque<HostSample>& samples = by_thread_[thread];
    samples.push_back(sample);
    if (samples.size() > kMostOfAThread) samples.pop_front();
}

// A sample stands for the time since the one before it: they are the rarer, the longer a gap is.
SampledGap HostSamples::in(uint32_t thread, int64_t from_ns, int64_t until_ns) const {
    SampledGap gap = {0, nullptr, kNull};
    const auto found = by_thread_.find(thread);
    if (found == by_thread_.end()) return gap;
    std::array<int64_t, kClasses> stands_for_ns = {};
    const HostSample* first = nullptr;
    const HostSample* last = nullptr;
    int64_t before_ns = from_ns;
    for (const HostSample& sample : found->second) {
        if (sample.mono_ns < from_ns || sample.mono_ns >= until_ns) continue;
        stands_for_ns[static_cast<size_t>(sample.what)] += sample.mono_ns - before_ns;
        before_ns = sample.mono_ns;
        if (first == nullptr) first = &sample;
        last = &sample;
        ++gap.samples;
    }
    if (gap.samples == 0) return gap;
    // Running is told by the thread's clock; asked for is what the rest was.
    static_assert(static_cast<int>(HostClass::running) == 0);
    const auto most = std::max_element(stands_for_ns.begin() + 1, stands_for_ns.end());
    gap.what = kNames[*most > 0 ? most - stands_for_ns.begin() : 0];
    if (gap.samples < 2 || first->runqueue_ns == kNull || last->runqueue_ns == kNull) return gap;
    gap.runqueue_ns = last->runqueue_ns - first->runqueue_ns;
    if (*most == 0)
        gap.runqueue_ns = at_rate(gap.runqueue_ns, last->mono_ns - first->mono_ns, until_ns - from_ns);
    return gap;
}

void HostSamples::keep_only(std::span<const uint32_t> threads) {
    std::erase_if(by_thread_, [&](const auto& entry) {
        return std::ranges::find(threads, entry.first) == threads.end();
    });
}

HostSamples& host_samples() {
    static auto* const samples = new HostSamples;
    return *samples;
}

}  // namespace gpushim::shim
