#include "service.h"

#include <deque>
#include <mutex>

#include "engine/box_thread.h"

namespace gpusim::nccl::service {
namespace {

struct Work {
    std::mutex mutex;
    std::deque<std::vector<Moment>> waiting;
    bool is_busy = false;
    WakeWord arrived, done;
};

Work& work() {
    static auto* const one = new Work;
    return *one;
}

void play(const std::vector<Moment>& moments) {
    for (const Moment& moment : moments) {
        if (clock::stepped())
            clock::show(moment.at);
        else
            clock::sleep_until(moment.at);
        moment.act();
    }
    clock::show(0);
}

bool take(std::vector<Moment>& moments) {
    const std::lock_guard guard(work().mutex);
    work().is_busy = !work().waiting.empty();
    if (!work().is_busy) return false;
    moments = std::move(work().waiting.front());
    work().waiting.pop_front();
    return true;
}

void run() {
    for (;;) {
        const uint32_t seen = work().arrived.value();
        std::vector<Moment> moments;
        if (take(moments)) {
            play(moments);
            continue;
        }
        work().done.wake();
        work().arrived.wait(seen);
    }
}

}  // namespace

void push(std::vector<Moment> moments) {
    static const bool started = start_box_thread("NCCL Progress", run);
    (void)started;
    {
        const std::lock_guard guard(work().mutex);
        work().waiting.push_back(std::move(moments));
    }
    work().arrived.wake();
}

void wait_until_idle() {
    for (;;) {
        const uint32_t seen = work().done.value();
        {
            const std::lock_guard guard(work().mutex);
            if (work().waiting.empty() && !work().is_busy) return;
        }
        work().done.wait(seen);
    }
}

}  // namespace gpusim::nccl::service
