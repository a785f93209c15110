// What a Kineto trace says of itself outside traceEvents: before it, behind it, or both. What is not said is
// absent. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json_scanner.h"

namespace gpushim::analysis {

struct KinetoDevice {
    std::optional<int64_t> id, memory_bytes, compute_major, compute_minor, sm_count;
    std::optional<int64_t> max_threads_per_sm, shared_memory_per_sm_bytes, registers_per_sm;
    std::string name;
};

struct KinetoHead {
    std::optional<int64_t> schema_version;
    std::optional<int64_t> base_time_ns;  // since 1970; to be added to every start_ns. Absent: they have it
    std::optional<int64_t> rank, world_size, group_count;
    std::optional<int64_t> cupti_version, cuda_runtime_version, cuda_driver_version;
    std::optional<bool> with_flops, with_stack, with_modules, record_shapes, profile_memory;
    std::string backend, nccl_version;
    std::string groups_json;  // pg_config as it stands
    std::string display_time_unit, trace_id, trace_name, host_name;
    std::vector<KinetoDevice> devices;
    uint64_t values_ignored = 0;  // of known keys, because of their type
};

bool is_head_key(std::string_view key);
// The value of that key, which must be a known one. Only good if `json` is neither cut nor wrong afterwards.
void read_head_value(JsonScanner& json, std::string_view key, KinetoHead& head);

}  // namespace gpushim::analysis
