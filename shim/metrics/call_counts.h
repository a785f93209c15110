// Counts of what a process has asked of its GPUs, from the events that were stored, for its metrics. Bounded:
// collectives are counted by name and by size (schema/size_class.h), steps of at most kMostThreads threads.
// What was captured into a graph ran nothing and is not counted. The writer's thread only.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "../calls/api.h"
#include "../rows/batch.h"
#include "context_devices.h"

namespace gpushim::shim {

class CallCounts {
  public:
    static constexpr size_t kMostThreads = 256;

    struct Operations {
        const char* name;
        uint64_t submitted = 0, failed = 0;
    };
    // Of threads that were on one device.
    struct OnDevice {
        std::array<Operations, 5> operations = {
            {{"launch"}, {"graph_launch"}, {"copy"}, {"memset"}, {"collective"}}};
        uint64_t copy_bytes = 0;
        int64_t wait_ns = 0;
    };
    struct Collectives {
        uint64_t calls = 0, bytes = 0;
        bool has_bytes = true;  // false: of one the datum's size is not known
    };
    // Name of the call, and the largest size that counts here (size_class).
    using CollectiveKey = std::pair<std::string_view, uint64_t>;

    void add(std::span<const Event> events);

    // By ordinal; -1: not known which. A collective is of the device of its thread, whatever its
    // communicator's is.
    const std::map<int64_t, OnDevice>& devices() const { return on_devices_; }
    const std::map<CollectiveKey, Collectives>& collectives() const { return collectives_; }
    uint64_t steps() const { return steps_; }
    std::optional<uint64_t> samples() const { return samples_; }  // of those steps; none: none says
    int64_t step_ns() const { return step_ns_; }
    int64_t last_operation_ns() const { return last_operation_ns_; }  // kNull: there was none
    int64_t last_step_ns() const { return last_step_ns_; }            // kNull: none was marked

  private:
    void add(const Event& event);
    void add_collective(const Event& event);
    void add_step(const Event& event);

    ContextDevices contexts_;
    std::map<int64_t, OnDevice> on_devices_;
    std::map<CollectiveKey, Collectives> collectives_;
    struct OpenStep {
        int64_t began_ns;
        std::optional<uint64_t> samples;
    };
    std::map<int32_t, OpenStep> open_steps_;  // by thread
    uint64_t steps_ = 0;
    std::optional<uint64_t> samples_;
    int64_t step_ns_ = 0;
    int64_t last_operation_ns_ = kNull, last_step_ns_ = kNull;
};

}  // namespace gpushim::shim
