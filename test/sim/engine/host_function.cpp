#include "host_function.h"

#include <atomic>
#include <deque>
#include <mutex>

#include "box_state.h"
#include "box_thread.h"
#include "mover.h"

namespace gpusim {
namespace {

class HostFunction : public Behaviour, public std::enable_shared_from_this<HostFunction> {
  public:
    explicit HostFunction(std::function<void(Ns)> body) : body_(std::move(body)) {}

    void arrive(Ns ready_ns) override;
    std::optional<Outcome> outcome() override {
        if (!done_.load(std::memory_order_acquire)) return std::nullopt;
        return Outcome{start_ns_, end_ns_, 0};
    }
    Ns not_before() const override { return ready_ns_; }

    void run();

  private:
    std::function<void(Ns)> body_;
    Ns ready_ns_ = 0, start_ns_ = 0, end_ns_ = 0;
    uint64_t moves_ = 0;  // the bytes of all that came before
    std::atomic<bool> done_{false};
};

struct Queue {
    std::mutex mutex;
    std::deque<std::shared_ptr<HostFunction>> waiting;
    WakeWord work;
};

Queue& queue() {
    static Queue* const q = new Queue;
    return *q;
}

std::shared_ptr<HostFunction> take() {
    const std::lock_guard guard(queue().mutex);
    if (queue().waiting.empty()) return nullptr;
    auto first = std::move(queue().waiting.front());
    queue().waiting.pop_front();
    return first;
}

void run_all() {
    for (;;) {
        const uint32_t seen = queue().work.value();
        while (const auto next = take()) next->run();
        queue().work.wait(seen);
    }
}

void HostFunction::arrive(Ns ready_ns) {
    ready_ns_ = ready_ns;
    moves_ = mover::newest();
    static const bool started = start_box_thread("gpusim-callback", run_all);
    (void)started;
    {
        const std::lock_guard guard(queue().mutex);
        queue().waiting.push_back(shared_from_this());
    }
    queue().work.wake();
}

void HostFunction::run() {
    mover::wait(moves_);
    if (clock::stepped()) {
        Ns lasted = 0;
        clock::collect_advances(&lasted);
        body_(ready_ns_);
        clock::collect_advances(nullptr);
        start_ns_ = ready_ns_;
        end_ns_ = ready_ns_ + lasted;
    } else {
        clock::sleep_until(ready_ns_);
        start_ns_ = clock::now();
        body_(start_ns_);
        end_ns_ = clock::now();
    }
    body_ = nullptr;
    done_.store(true, std::memory_order_release);
    box::ring_bell();
}

}  // namespace

std::shared_ptr<Behaviour> host_function(std::function<void()> body) {
    return host_function_at([body = std::move(body)](Ns) { body(); });
}

std::shared_ptr<Behaviour> host_function_at(std::function<void(Ns)> body) {
    return std::make_shared<HostFunction>(std::move(body));
}

}  // namespace gpusim
