#include "thread_rows.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "../base/rounding.h"
#include "../base/system.h"
#include "host_samples.h"

namespace gpushim::shim {
namespace {

// What the program has named its thread; only while it lives.
std::string thread_name(int64_t tid) {
    char path[64], text[32];
    std::snprintf(path, sizeof path, "/proc/self/task/%lld/comm", static_cast<long long>(tid));
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return {};
    const ssize_t size = read(file, text, sizeof text);
    close(file);
    return size > 0 ? std::string(text, static_cast<size_t>(size) - 1) : std::string();
}

// What the thread ran between the two readings, less what of that lies beside the gap. Ticks become time as
// those of the gap itself do.
int64_t running_ns(const Slot& slot, int64_t gap_ns) {
    const auto words = words_of<event::gap>(slot);
    const auto beside_ticks = static_cast<double>(static_cast<int64_t>(words.ran_beside));
    const auto gap_ticks = static_cast<double>(slot.exit - slot.enter);
    const int64_t beside_ns = rounded(beside_ticks * static_cast<double>(gap_ns) / gap_ticks);
    return std::clamp(static_cast<int64_t>(words.cpu_ns) - beside_ns, int64_t{0}, gap_ns);
}

}  // namespace

void ThreadRows::load(Database& base) {
    Statement threads = base.prepare("SELECT id FROM thread");
    while (threads.step()) threads_[threads.number(0)] = clock_ns(CLOCK_MONOTONIC);
}

void ThreadRows::thread(const Call& call) {
    if (!call.finished) return;
    const auto words = call.words<event::thread>();
    const auto number = static_cast<int64_t>(words.number);
    const auto [known, is_new] = threads_.try_emplace(number, call.enter_ns);
    if (!is_new) return;
    const auto tid = static_cast<int64_t>(words.tid);
    const std::string name = recovered_ != 0 ? std::string() : thread_name(tid);
    tables_.thread.add({.id = number,
                        .tid = tid,
                        .name = name.empty() ? kNull : tables_.thread.text(name),
                        .first_ns = call.enter_ns});
}

// Of those that have rows.
void ThreadRows::see(int64_t number, int64_t enter_ns) {
    if (last_thread_ == nullptr || number != last_number_) {
        const auto known = threads_.find(number);
        if (known == threads_.end()) return;
        last_number_ = number;
        last_thread_ = &known->second;
    }
    if (enter_ns > *last_thread_) *last_thread_ = enter_ns;
}

void ThreadRows::is_gone(int64_t number) {
    threads_.erase(number);
    last_thread_ = nullptr;
}

// A thread id that is used again keeps a row that nobody needs.
int64_t ThreadRows::end_of(int64_t number, int64_t tid) const {
    const auto known = threads_.find(number);
    if (recovered_ != 0 || known == threads_.end()) return kNull;
    char path[64];
    std::snprintf(path, sizeof path, "/proc/self/task/%lld", static_cast<long long>(tid));
    return access(path, F_OK) == 0 ? kNull : known->second;
}

void ThreadRows::gap(const Call& call) {
    const Slot& slot = call.event.slot;
    if (!call.finished || slot.exit <= slot.enter) return;
    const int64_t running = running_ns(slot, call.dur_ns);
    const SampledGap sampled =
        host_samples().in(static_cast<uint32_t>(call.thread), call.enter_ns, call.event.exit_ns);
    const int64_t runqueue =
        sampled.runqueue_ns == kNull ? kNull : std::min(sampled.runqueue_ns, call.dur_ns - running);
    tables_.host_gap.add({.enter_ns = call.enter_ns,
                          .dur_ns = call.dur_ns,
                          .thread_id = call.thread,
                          .running_ns = running,
                          .runqueue_ns = runqueue,
                          .blocked_on = sampled.what == nullptr ? kNull : tables_.host_gap.text(sampled.what),
                          .samples = sampled.samples});
}

}  // namespace gpushim::shim
