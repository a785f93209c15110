#include "task.h"

#include <mutex>

#include "engine/box_state.h"
#include "engine/box_thread.h"

namespace gpusim::nccl {
namespace {

constexpr Ns kLookEvery = 20'000'000;  // at peers that come or die without ringing

struct Later {
    std::mutex mutex;
    Tasks arrived;
    WakeWord work;
};

Later& later() {
    static auto* const l = new Later;
    return *l;
}

// Drops those that are over.
ncclResult_t step_all(Tasks& tasks) {
    ncclResult_t first_failure = ncclSuccess;
    std::erase_if(tasks, [&](const std::unique_ptr<Task>& task) {
        if (!task->step()) return false;
        if (first_failure == ncclSuccess) first_failure = task->result();
        return true;
    });
    return first_failure;
}

void take_arrived(Tasks& tasks) {
    const std::lock_guard guard(later().mutex);
    for (auto& task : later().arrived) tasks.push_back(std::move(task));
    later().arrived.clear();
}

void run_background() {
    Tasks tasks;
    for (;;) {
        const uint32_t idle = later().work.value();
        const uint32_t bell = box::bell();
        take_arrived(tasks);
        step_all(tasks);
        if (tasks.empty())
            later().work.wait(idle);
        else
            box::wait_bell(bell, kLookEvery);
    }
}

}  // namespace

bool Task::step() {
    if (result_ == ncclSuccess && go_on() == Progress::waits) return false;
    ncclResult_t in_progress = ncclInProgress;
    comm_->state.compare_exchange_strong(in_progress, result_);
    return true;
}

Task::Progress Task::fail(ncclResult_t result, const char* why) {
    explain(why);
    result_ = result;
    return Progress::done;
}

ncclResult_t carry_out(Tasks& tasks) {
    ncclResult_t first_failure = ncclSuccess;
    for (;;) {
        const uint32_t bell = box::bell();
        const ncclResult_t failure = step_all(tasks);
        if (first_failure == ncclSuccess) first_failure = failure;
        if (tasks.empty()) return first_failure;
        box::wait_bell(bell, kLookEvery);
    }
}

void carry_out_later(Tasks tasks) {
    static const bool started = start_box_thread("gpusim-nccl", run_background);
    (void)started;
    {
        const std::lock_guard guard(later().mutex);
        for (auto& task : tasks) later().arrived.push_back(std::move(task));
    }
    later().work.wake();
    box::ring_bell();
}

}  // namespace gpusim::nccl
