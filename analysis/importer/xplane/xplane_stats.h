// The statistics of an event or a plane, by name: those that we ask for. What a plane's metadata say of their
// numbers and of its events' names is kept while the plane is read; both are bounded. Views are valid as long
// as what they were read from. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace gpushim::analysis {

enum class XplaneStat : uint8_t {
    correlation_id,
    context_id,
    kernel_details,
    memcpy_details,
    memset_details,
    cuda_graph_exec_id,
    step_num,
    core_count,
    memory_size,
    compute_cap_major,
    compute_cap_minor,
    gpu_device_name,
    profile_start_time,
    device_vendor,
    process_id,
};
constexpr size_t kXplaneStats = static_cast<size_t>(XplaneStat::process_id) + 1;

class XplaneStats {
  public:
    void clear() { has_ = 0; }
    bool has(XplaneStat stat) const { return (has_ >> static_cast<size_t>(stat) & 1) != 0; }
    std::optional<int64_t> number(XplaneStat stat) const;
    std::string_view text(XplaneStat stat) const;  // empty: none, or a number

  private:
    friend class XplaneNames;
    struct Value {
        int64_t number;
        std::string_view text;
        bool is_number;
    };
    uint32_t has_ = 0;
    Value values_[kXplaneStats];
};
static_assert(kXplaneStats <= 32);

class XplaneNames {
  public:
    // An entry of the map event_metadata or stat_metadata.
    void add_event(std::string_view entry);
    void add_stat(std::string_view entry);
    // Empty: not told, or unnamed.
    std::string_view event(int64_t id) const;
    // Adds what a message XStat says, if that is asked for.
    void read_stat(std::string_view message, XplaneStats& stats) const;

  private:
    std::unordered_map<int64_t, std::string> events_, texts_;
    std::unordered_map<int64_t, XplaneStat> stats_;
    size_t bytes_ = 0;
};

}  // namespace gpushim::analysis
