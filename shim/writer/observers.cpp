#include "observers.h"

#include <algorithm>
#include <cstring>

#include "../alarm/hang_alarm.h"
#include "../harvest/time_source.h"
#include "../machine/host_sampler.h"
#include "../machine/nccl_source.h"
#include "../machine/nvml.h"
#include "../machine/unanswered_rows.h"
#include "../metrics/process_metrics.h"
#include "../python/python_sampler.h"
#include "../windows/windows.h"

namespace gpushim::shim {
namespace {

constexpr int64_t kNeverNs = INT64_MAX;
constexpr const char* kRepeated[] = {"nvml", "device_clock", "window", "python_sample", "python_launch"};

// Null: nothing to observe here. In this order they look.
using Make = std::unique_ptr<Observer> (*)(std::span<const Device>);
constexpr Make kMakers[] = {
    make_time_source,  // before the first window opens there are events
    make_windows,     make_host_sampler, make_python_sampler,  make_nvml_observer,
    make_unanswered,  make_hang_alarm,   make_process_metrics, make_nccl_source,
};

}  // namespace

Observers::Observers(std::span<const Device> devices) {
    for (const Make make : kMakers)
        if (std::unique_ptr<Observer> observer = make(devices)) all_.push_back(std::move(observer));
}

int64_t Observers::look(const Moment& now) {
    int64_t next_ns = kNeverNs;
    for (const auto& observer : all_) next_ns = std::min(next_ns, observer->look(now));
    give_up_oldest();
    return next_ns;
}

// Of what is measured again and again. The others are as many as the events that were written, or sums.
void Observers::give_up_oldest() {
    for (Rows* rows : rows()) {
        const bool is_repeated = std::ranges::any_of(
            kRepeated, [&](const char* table) { return std::strcmp(table, rows->table()) == 0; });
        if (!is_repeated || rows->count() < kMostRows) continue;
        rows->erase_first(kMostRows / 2);
        rows->drop_texts();
        left_out_ += kMostRows / 2;
    }
}

std::span<Rows* const> Observers::rows() {
    rows_.clear();
    for (const auto& observer : all_)
        rows_.insert(rows_.end(), observer->rows().begin(), observer->rows().end());
    return rows_;
}

bool Observers::have_rows() {
    return std::ranges::any_of(rows(), [](const Rows* rows) { return rows->count() != 0; });
}

void Observers::stored(std::span<const Event> events, std::span<const TimedOperation> timed) {
    for (Rows* rows : rows()) rows->clear();
    left_out_ = 0;
    for (const auto& observer : all_) observer->stored(events, timed);
}

}  // namespace gpushim::shim
