#include "python_sampler.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "../base/config.h"
#include "../base/log.h"
#include "../base/system.h"
#include "../base/time_units.h"
#include "../machine/allowance.h"
#include "../ring/clock.h"
#include "../ring/quiet.h"
#include "../schema/rows.h"
#include "frames.h"

namespace gpushim::shim {
namespace {

constexpr int64_t kNeverNs = INT64_MAX;
constexpr int64_t kShortestNs = 1 * kMillisecond;
// A program may load an interpreter late, or end it: looked for again, ever more rarely.
constexpr int64_t kLookAgainNs = 1'000 * kMillisecond, kLookSeldomNs = 60'000 * kMillisecond;
constexpr int64_t kCountEveryNs = 10'000 * kMillisecond;
constexpr int kTries = 3;

class PythonSampler : public Observer {
  public:
    int64_t look(const Moment& now) override {
        if (now.ending) count(now.mono_ns);
        if (now.ending || process_state->clock_kind == kTestClock || !recording() ||
            process_state->gap_ticks == 0)
            return kNeverNs;
        allowance_.passed(now.mono_ns - looked_ns_);
        looked_ns_ = now.mono_ns;
        if (now.mono_ns - counted_ns_ >= kCountEveryNs) count(now.mono_ns);
        return look_at_all(now.mono_ns);
    }
    std::span<Rows* const> rows() override { return all_rows_; }

  private:
    struct Watched {
        int32_t tid = 0;
        int64_t due_ns = 0, launch_due_ns = 0;
    };

    int64_t look_at_all(int64_t now_ns) {
        const std::span<Ring> rings = all_rings();
        watched_.resize(rings.size());
        int64_t next_ns = kNeverNs;
        for (size_t i = 0; i < rings.size(); ++i) {
            if (!allowance_.has_any()) return kPythonEveryNs;
            next_ns = std::min(next_ns, look_at(rings[i], watched_[i], now_ns));
        }
        return next_ns;
    }

    int64_t look_at(const Ring& ring, Watched& watched, int64_t now_ns) {
        const int32_t tid = ring.tid.load(std::memory_order_relaxed);
        if (watched.tid != tid) watched = {tid};
        const uint64_t since = quiet_since(ring);
        const int64_t age_ns = since == 0 ? 0 : quiet_ns(since);
        if (age_ns < kPythonQuietNs) return look_at_launch(ring, watched, now_ns);
        if (now_ns >= watched.due_ns) {
            if (!may_look(now_ns)) return python_again_ns_ - now_ns;
            sample(ring, since);
            watched.due_ns = now_ns + next_python_sample_ns(age_ns, chance());
        }
        return std::max(watched.due_ns - now_ns, kShortestNs);
    }

    // Who makes no call at all has no ring in use.
    int64_t look_at_launch(const Ring& ring, Watched& watched, int64_t now_ns) {
        if (ring.state.load(std::memory_order_acquire) != RingState::taken) return kNeverNs;
        if (now_ns >= watched.launch_due_ns) {
            if (!may_look(now_ns)) return kNeverNs;
            sample_launch(ring);
            watched.launch_due_ns =
                now_ns + kPythonLaunchEveryNs +
                static_cast<int64_t>(chance() * 0.5 * static_cast<double>(kPythonLaunchEveryNs));
        }
        return std::max(watched.launch_due_ns - now_ns, kShortestNs);
    }

    // Waited for a little: most of the time a thread is between two launches.
    static uint64_t wait_for_launch(const Ring& ring) {
        constexpr int64_t kWaitNs = 20'000;
        const int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + kWaitNs;
        uint64_t position = 0;
        while (position == 0 && clock_ns(CLOCK_MONOTONIC) < until_ns)
            position = position_in(ring, EventKind::launch);
        return position;
    }

    void sample_launch(const Ring& ring) {
        const int64_t started_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        const uint32_t number = ring.number.load(std::memory_order_relaxed);
        const uint64_t thread =
            find_python_thread(python_, number_in_pthread_, ring.tid.load(std::memory_order_relaxed));
        const uint64_t position = thread == 0 ? 0 : wait_for_launch(ring);
        if (position != 0) {
            const int64_t mono_ns = read_pair(static_cast<ClockKind>(process_state->clock_kind)).mono_ns;
            // The time lies in the call, and the call is the newest when all has been read.
            if (position_in(ring, EventKind::launch) == position &&
                read_frames(python_, thread, stack_) == StackSeen::frames &&
                is_in_same_call(python_, stack_) &&
                ring.header->head.load(std::memory_order_acquire) == position)
                take_launch(number, mono_ns);
        }
        allowance_.spend(clock_ns(CLOCK_THREAD_CPUTIME_ID) - started_ns);
    }

    void take_launch(uint32_t thread, int64_t mono_ns) {
        int64_t frame = kNull;
        const auto kept = frames_.id_of(python_, stack_, mono_ns, frame);
        if (kept == Frames::Kept::no_place) ++left_out_;
        if (kept != Frames::Kept::yes) return;
        last_launch_ns_ = std::max(mono_ns, last_launch_ns_ + 1);
        launches_.add({.enter_ns = last_launch_ns_, .thread_id = thread, .frame_id = frame});
    }

    // Whether there is an interpreter that we can read.
    bool may_look(int64_t now_ns) {
        if (python_.runtime != 0 && python_.why_not[0] == '\0') return true;
        if (now_ns < python_again_ns_) return false;
        python_wait_ns_ = std::clamp(2 * python_wait_ns_, kLookAgainNs, kLookSeldomNs);
        python_again_ns_ = now_ns + python_wait_ns_;
        const int64_t started_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        const Python before = python_;
        python_ = find_python();
        if (python_.runtime != 0 && number_in_pthread_ == kNo) number_in_pthread_ = find_number_in_pthread();
        allowance_.spend(clock_ns(CLOCK_THREAD_CPUTIME_ID) - started_ns);
        if (std::strcmp(before.why_not, python_.why_not) != 0) {
            log_line(LogLevel::info, "GPUSHIM_PYTHON: %s; no lines of Python", python_.why_not);
            count(now_ns);
        }
        return python_.runtime != 0 && python_.why_not[0] == '\0';
    }

    void sample(const Ring& ring, uint64_t since) {
        const int64_t started_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        const int64_t mono_ns = read_pair(static_cast<ClockKind>(process_state->clock_kind)).mono_ns;
        const uint32_t thread = ring.number.load(std::memory_order_relaxed);
        const int32_t tid = ring.tid.load(std::memory_order_relaxed);
        auto seen = StackSeen::moved;
        for (int i = 0; i < kTries && seen == StackSeen::moved; ++i)
            seen = read_stack(python_, number_in_pthread_, tid, stack_);
        // What it does in its next call is not what it did before.
        if (seen != StackSeen::no_python && quiet_since(ring) == since) take(seen, thread, mono_ns);
        allowance_.spend(clock_ns(CLOCK_THREAD_CPUTIME_ID) - started_ns);
    }

    void take(StackSeen seen, uint32_t thread, int64_t mono_ns) {
        int64_t frame = kNull;
        const auto kept =
            seen == StackSeen::frames ? frames_.id_of(python_, stack_, mono_ns, frame) : Frames::Kept::moved;
        if (kept == Frames::Kept::moved) return void(++missing_);
        if (kept == Frames::Kept::no_place) return void(++left_out_);
        ++taken_;
        last_ns_ = std::max(mono_ns, last_ns_ + 1);
        const int64_t doing = static_cast<int64_t>(stack_.doing);
        samples_.add({.enter_ns = last_ns_,
                      .thread_id = thread,
                      .frame_id = frame,
                      .doing = doing < 0 ? kNull : doing});
    }

    // Sums: the newest row counts. None where there is no interpreter.
    void count(int64_t now_ns) {
        const std::array<int64_t, 3> sums = {taken_, missing_, left_out_};
        if (python_.runtime == 0 || (sums == counted_ && counted_ns_ != 0)) return;
        counted_ = sums;
        counted_ns_ = std::max(now_ns, counted_ns_ + 1);
        const auto told = [this](const char* text) { return *text == '\0' ? kNull : sources_.text(text); };
        sources_.add({.mono_ns = counted_ns_,
                      .version = told(python_.version),
                      .refused = told(python_.why_not),
                      .samples = taken_,
                      .missing = missing_,
                      .left_out = left_out_});
    }

    double chance() {
        random_ = random_ * 6364136223846793005u + 1442695040888963407u;
        return static_cast<double>(random_ >> 40) * 0x1p-24;
    }

    Python python_ = {};
    uint32_t number_in_pthread_ = kNo;
    int64_t python_again_ns_ = 0, python_wait_ns_ = 0;
    std::vector<Watched> watched_;
    Allowance allowance_{kPythonShare};
    int64_t looked_ns_ = 0, last_ns_ = 0, last_launch_ns_ = 0, counted_ns_ = 0;
    std::array<int64_t, 3> counted_ = {};
    int64_t taken_ = 0, missing_ = 0, left_out_ = 0;
    uint64_t random_ = 1;
    PythonStack stack_;
    Frames frames_{frame_limits(config.max_bytes)};
    RowsOf<row::python_sample> samples_;
    RowsOf<row::python_launch> launches_;
    RowsOf<row::python_source> sources_;
    std::array<Rows*, 5> all_rows_ = {&frames_.codes(), &frames_.frames(), &samples_, &launches_, &sources_};
};

}  // namespace

std::unique_ptr<Observer> make_python_sampler(std::span<const Device>) {
    if (config.python == PythonLines::off) return nullptr;
    return std::make_unique<PythonSampler>();
}

}  // namespace gpushim::shim
