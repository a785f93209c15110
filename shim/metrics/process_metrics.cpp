#include "process_metrics.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "../alarm/hang_alarm.h"
#include "../base/config.h"
#include "../base/log.h"
#include "../base/system.h"
#include "../base/time_units.h"
#include "../base/version.h"
#include "../ring/rings.h"
#include "../rows/drop_reasons.h"
#include "../schema/exposition.h"
#include "../schema/size_class.h"
#include "call_counts.h"
#include "text_file.h"

namespace gpushim::shim {
namespace {

constexpr int64_t kNeverNs = INT64_MAX;
constexpr int64_t kWriteEveryNs = 2'000 * kMillisecond;

constinit const TraceIdentity* whose = nullptr;
constinit const char* path_of_file = "";

double seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

// What rings have dropped: one that goes takes its counts with it, so they are summed up here.
class Drops {
  public:
    void look() {
        const std::span<Ring> rings = all_rings();
        seen_.resize(std::max(seen_.size(), rings.size()));
        for (size_t i = 0; i < rings.size(); ++i) {
            // Acquire: with the state, what the ring was installed with.
            const RingState state = rings[i].state.load(std::memory_order_acquire);
            if (state != RingState::absent && state != RingState::making) add(*rings[i].header, seen_[i]);
        }
        if (process_ring() != nullptr) add(*process_ring(), without_ring_);
    }
    uint64_t sum(size_t reason) const { return sums_[reason]; }

  private:
    struct Seen {
        uint64_t ring_id = UINT64_MAX;
        std::array<uint64_t, kDrops> dropped = {};
    };
    void add(const RingHeader& header, Seen& seen) {
        if (seen.ring_id != header.ring_id) seen = {header.ring_id, {}};
        for (size_t i = 0; i < kDrops; ++i) {
            // Relaxed: a count, of which a later look has the rest.
            const uint64_t dropped = header.dropped[i].load(std::memory_order_relaxed);
            sums_[i] += dropped - std::exchange(seen.dropped[i], dropped);
        }
    }

    std::vector<Seen> seen_;
    Seen without_ring_;
    std::array<uint64_t, kDrops> sums_ = {};
};

// With the process's number before the suffix.
std::string numbered(const std::string& path) {
    const size_t slash = path.rfind('/'), dot = path.rfind('.');
    const bool has_suffix = dot != std::string::npos && (slash == std::string::npos || dot > slash + 1);
    const size_t place = has_suffix ? dot : path.size();
    return path.substr(0, place) + "." + std::to_string(whose->pid) + path.substr(place);
}

class ProcessMetrics : public Observer {
  public:
    explicit ProcessMetrics(std::span<const Device> devices) : devices_(devices), path_(path_of_file) {}

    int64_t look(const Moment& now) override {
        if (now.ending) {
            file_.remove(path_.c_str());
            return kNeverNs;
        }
        drops_.look();
        const int64_t left_ns = written_ns_ + kWriteEveryNs - now.mono_ns;
        if (left_ns > 0) return left_ns;
        written_ns_ = now.mono_ns;
        write(now);
        return kWriteEveryNs;
    }
    std::span<Rows* const> rows() override { return {}; }
    void stored(std::span<const Event> events, std::span<const TimedOperation> /*timed*/) override {
        counts_.add(events);
    }

  private:
    void write(const Moment& now) {
        keep_off();
        const int error = file_.replace(path_.c_str(), text(now), config.metrics_mode);
        failed_ += error != 0;
        if (error != 0 && !std::exchange(has_complained_, true))
            log_line(LogLevel::warn, "cannot write %s (%s); it is tried again", path_.c_str(),
                     strerror(error));
    }

    // Two processes that replace each other's file would make one series of two.
    void keep_off() {
        if (has_own_name_ || !file_.is_anothers(path_.c_str())) return;
        has_own_name_ = true;
        std::string own = numbered(path_);
        log_line(LogLevel::warn, "%s is another process's; the metrics of this one are in %s", path_.c_str(),
                 own.c_str());
        path_ = std::move(own);
    }

    std::string text(const Moment& now) {
        Exposition out;
        const std::string rank = std::to_string(whose->rank), pid = std::to_string(whose->pid);
        // With the process in it no two files have the same series, which node_exporter would refuse.
        out.set_common(metric_labels({{"host", whose->host},
                                      {"rank", whose->rank < 0 ? "" : rank},
                                      {"pid", pid},
                                      {"job_id", whose->job},
                                      {"pod", whose->pod}}));
        add_process(out, now);
        add_operations(out, now.real_ns - now.mono_ns);
        add_own(out);
        return out.text();
    }

    void add_process(Exposition& out, const Moment& now) const {
        out.add(Metric::build_info, 1, {{"version", kVersion}});
        for (const Device& device : devices_)
            out.add(
                Metric::gpu_info, 1,
                {{"gpu", device.uuid}, {"device", std::to_string(device.ordinal)}, {"name", device.name}});
        out.add(Metric::started_timestamp_seconds, seconds(whose->started_real_ns));
        out.add(Metric::written_timestamp_seconds, seconds(now.real_ns));
    }

    void add_operations(Exposition& out, int64_t to_real_ns) const {
        const auto add_time = [&](Metric metric, int64_t mono_ns) {
            if (mono_ns != kNull) out.add(metric, seconds(mono_ns + to_real_ns));
        };
        add_time(Metric::last_operation_timestamp_seconds, counts_.last_operation_ns());
        add_time(Metric::last_step_timestamp_seconds, counts_.last_step_ns());
        for (const auto& [ordinal, on_device] : counts_.devices())
            add_device(out, uuid_of(ordinal), on_device);
        for (const auto& [key, sum] : counts_.collectives()) {
            const std::string size = size_label(key.second);
            out.add(Metric::collective_calls_total, static_cast<double>(sum.calls),
                    {{"collective", key.first}, {"size", size}});
            if (sum.has_bytes)
                out.add(Metric::collective_bytes_total, static_cast<double>(sum.bytes),
                        {{"collective", key.first}, {"size", size}});
        }
        // A program that marks no steps has none that could be counted.
        if (counts_.last_step_ns() == kNull) return;
        out.add(Metric::steps_total, static_cast<double>(counts_.steps()));
        out.add(Metric::step_seconds_total, seconds(counts_.step_ns()));
        if (counts_.samples()) out.add(Metric::step_samples_total, static_cast<double>(*counts_.samples()));
    }

    void add_device(Exposition& out, const std::string& gpu, const CallCounts::OnDevice& counts) const {
        for (const auto& [name, submitted, failed] : counts.operations) {
            out.add(Metric::operations_total, static_cast<double>(submitted),
                    {{"gpu", gpu}, {"operation", name}});
            out.add(Metric::failed_operations_total, static_cast<double>(failed),
                    {{"gpu", gpu}, {"operation", name}});
        }
        out.add(Metric::copy_bytes_total, static_cast<double>(counts.copy_bytes), {{"gpu", gpu}});
        out.add(Metric::wait_seconds_total, seconds(counts.wait_ns), {{"gpu", gpu}});
    }

    std::string uuid_of(int64_t ordinal) const {
        for (const Device& device : devices_)
            if (device.ordinal == ordinal) return device.uuid;
        return ordinal < 0 ? "" : std::to_string(ordinal);
    }

    void add_own(Exposition& out) const {
        if (config.hang_after_s > 0) out.add(Metric::hang, process_hangs() ? 1 : 0);
        for (size_t i = 0; i < kDrops; ++i)
            out.add(Metric::dropped_total, static_cast<double>(drops_.sum(i)), {{"reason", kDropReasons[i]}});
        out.add(Metric::writer_cpu_seconds_total, seconds(clock_ns(CLOCK_THREAD_CPUTIME_ID)));
        out.add(Metric::failed_writes_total, static_cast<double>(failed_));
    }

    const std::span<const Device> devices_;
    std::string path_;
    CallCounts counts_;
    Drops drops_;
    int64_t written_ns_ = INT64_MIN / 2;
    uint64_t failed_ = 0;
    TextFile file_;
    bool has_own_name_ = false, has_complained_ = false;
};

}  // namespace

void metrics_speak_for(const TraceIdentity& identity, const char* path) {
    whose = &identity;
    path_of_file = path;
}

std::unique_ptr<Observer> make_process_metrics(std::span<const Device> devices) {
    if (whose == nullptr || path_of_file[0] == '\0') return nullptr;
    return std::make_unique<ProcessMetrics>(devices);
}

}  // namespace gpushim::shim
