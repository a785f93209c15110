#include "mover.h"

#include <atomic>
#include <deque>
#include <mutex>

#include "box_thread.h"
#include "clock.h"

namespace gpusim::mover {
namespace {

constexpr int64_t kAtOnceBytes = 65536;  // about 5 us: less than waking another thread

struct State {
    std::mutex mutex;  // guards `jobs`; taken inside the engine's lock or alone
    std::deque<Job> jobs;
    std::atomic<uint64_t> pushed{0};
    std::atomic<uint64_t> finished{0};
    WakeWord work;
    WakeWord progress;
};

State& state() {
    static State* const s = new State;  // the mover's thread may outlive every destructor
    return *s;
}

void finish_one() {
    state().finished.fetch_add(1, std::memory_order_release);
    state().progress.wake();
}

Job take() {
    const std::lock_guard guard(state().mutex);
    if (state().jobs.empty()) return {};
    Job job = std::move(state().jobs.front());
    state().jobs.pop_front();
    return job;
}

void run() {
    for (;;) {
        const uint32_t seen = state().work.value();
        while (Job job = take()) {
            job();
            job = {};  // what the job holds is let go before anybody is told that it is done
            finish_one();
        }
        state().work.wait(seen);
    }
}

void start_thread() {
    static const bool started = start_box_thread("gpusim-mover", run);
    (void)started;
}

}  // namespace

uint64_t push(Job job, int64_t bytes) {
    State& s = state();
    const bool idle = s.finished.load(std::memory_order_acquire) == s.pushed.load(std::memory_order_relaxed);
    const uint64_t ticket = s.pushed.fetch_add(1, std::memory_order_relaxed) + 1;
    if (clock::stepped() || (idle && bytes <= kAtOnceBytes)) {
        job();
        finish_one();
        return ticket;
    }
    start_thread();
    {
        const std::lock_guard guard(s.mutex);
        s.jobs.push_back(std::move(job));
    }
    s.work.wake();
    return ticket;
}

bool done(uint64_t ticket) { return state().finished.load(std::memory_order_acquire) >= ticket; }

void wait(uint64_t ticket) {
    while (!done(ticket)) {
        const uint32_t seen = state().progress.value();
        if (!done(ticket)) state().progress.wait(seen);
    }
}

uint64_t newest() { return state().pushed.load(std::memory_order_relaxed); }

}  // namespace gpusim::mover
