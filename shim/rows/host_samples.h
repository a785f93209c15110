// What threads were seen doing while they made no calls, until their gaps come out of the rings: what a gap
// was blocked on is what it was seen blocked on for most of the time. The writer's thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>

namespace gpushim::shim {

// The words of host_gap.class.
enum class HostClass : uint8_t {
    running,
    waiting_for_descriptor,
    waiting_for_lock,
    sleeping,
    reading,
    disk,
    child,
    other,
    count
};
const char* name_of(HostClass what);

struct HostSample {
    int64_t mono_ns;
    HostClass what;
    int64_t runqueue_ns;  // that the thread has waited for a CPU in its life; kNull: not known
};

struct SampledGap {
    int64_t samples;
    const char* what;  // null: not sampled
    // Without a CPU, as from the first sample to the last; of the whole gap at that rate, where none saw it
    // blocked. kNull: not known.
    int64_t runqueue_ns;
};

class HostSamples {
  public:
    // In order of time per thread.
    void add(uint32_t thread, const HostSample& sample);
    SampledGap in(uint32_t thread, int64_t from_ns, int64_t until_ns) const;
    // Of threads that are gone nothing is asked any more.
    void keep_only(std::span<const uint32_t> threads);

  private:
    static constexpr size_t kMostOfAThread = 128;
    std::unordered_map<uint32_t, std::deque<HostSample>> by_thread_;
};

// The one that the sampler fills and the translator asks. Never destroyed.
HostSamples& host_samples();

}  // namespace gpushim::shim
