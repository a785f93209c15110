#include "host_sampler.h"

#include <algorithm>
#include <vector>

#include "../base/system.h"
#include "../ring/clock.h"
#include "../ring/quiet.h"
#include "proc_thread.h"

namespace gpushim::shim {
namespace {

constexpr int64_t kNeverNs = INT64_MAX;
constexpr int64_t kShortestNs = 1'000'000;
constexpr int64_t kForgetEveryNs = 1'000'000'000;

class HostSampler : public Observer {
  public:
    int64_t look(const Moment& now) override {
        if (now.ending || process_state->clock_kind == kTestClock || !recording() ||
            process_state->gap_ticks == 0)
            return kNeverNs;
        allowance_.passed(now.mono_ns - looked_ns_);
        looked_ns_ = now.mono_ns;
        forget(now.mono_ns);
        return look_at_all();
    }
    std::span<Rows* const> rows() override { return {}; }

  private:
    struct Watched {
        uint64_t since = 0;
        int64_t due_ns = kFirstLookNs;  // age of the gap
    };

    int64_t look_at_all() {
        const std::span<Ring> rings = all_rings();
        watched_.resize(rings.size());
        int64_t next_ns = kNeverNs;
        for (size_t i = 0; i < rings.size(); ++i) {
            if (!allowance_.has_any()) return kLooksApartNs;
            next_ns = std::min(next_ns, look_at(rings[i], watched_[i]));
        }
        return next_ns;
    }

    int64_t look_at(const Ring& ring, Watched& watched) {
        const uint64_t since = quiet_since(ring);
        if (since == 0) return kNeverNs;
        if (since != watched.since) watched = {since};
        const int64_t age = quiet_ns(since);
        // Who is busy is not waited for: the writer comes by.
        if (age < kFirstLookNs) return kNeverNs;
        if (age >= watched.due_ns) {
            sample(ring, since);
            watched.due_ns = next_look_ns(age);
        }
        return std::max(watched.due_ns - age, kShortestNs);
    }

    void sample(const Ring& ring, uint64_t since) {
        const int64_t started_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        const int64_t mono_ns = read_pair(static_cast<ClockKind>(process_state->clock_kind)).mono_ns;
        const uint32_t thread = ring.number.load(std::memory_order_relaxed);
        auto seen = look_at_thread(ring.tid.load(std::memory_order_relaxed));
        // What it does in its next call is not what it did before.
        if (seen && quiet_since(ring) == since) {
            seen->mono_ns = mono_ns;
            host_samples().add(thread, *seen);
        }
        allowance_.spend(clock_ns(CLOCK_THREAD_CPUTIME_ID) - started_ns);
    }

    void forget(int64_t now_ns) {
        if (now_ns - forgot_ns_ < kForgetEveryNs) return;
        forgot_ns_ = now_ns;
        std::vector<uint32_t> threads;
        for (const Ring& ring : all_rings())
            if (ring.state.load(std::memory_order_relaxed) == RingState::taken)
                threads.push_back(ring.number.load(std::memory_order_relaxed));
        host_samples().keep_only(threads);
    }

    std::vector<Watched> watched_;
    Allowance allowance_;
    int64_t looked_ns_ = 0;
    int64_t forgot_ns_ = 0;
};

}  // namespace

std::unique_ptr<Observer> make_host_sampler(std::span<const Device>) {
    return std::make_unique<HostSampler>();
}

}  // namespace gpushim::shim
