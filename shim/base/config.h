// The GPUSHIM_* variables, and where CUDA is, read once when recording starts: our own threads never ask the
// environment, which the program may be changing. What cannot be understood gets one line on stderr
// and the default. Plain data; the starting thread writes it, everybody reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gpushim::shim {

enum class LogLevel : uint8_t { off, error, warn, info, debug };
enum class DeviceTime : uint8_t { automatic, off, events, cupti };
enum class PythonLines : uint8_t { automatic, off };
enum class CublasCalls : uint8_t { automatic, off };
enum class NcclProfiler : uint8_t { off, network, all };
enum class CaptureRange : uint8_t { all, profiler };

struct Range {
    int64_t first;
    int64_t last;  // inclusive
};

struct Ranges {  // none: all
    Range range[64];
    size_t count;
    bool has(int64_t number) const;
};

struct Schedule {  // active 0: not set
    int64_t wait, warmup, active, repeat;
};

struct StampGapsSetting {  // of every device; not given: what is known of its kind
    int64_t before_ns, before_high_ns, after_ns, after_high_ns;
    bool is_given;
};

struct Config {
    char out[1024];
    LogLevel log;
    DeviceTime device_time;
    double budget_share;
    StampGapsSetting stamp_gaps;
    int64_t max_bytes;  // 0: no limit
    int64_t min_free_bytes;
    bool legacy_events;
    bool recovers_all;  // what any process of this user left
    Ranges ranks;
    Ranges steps;
    Schedule schedule;
    double delay_s;
    double duration_s;  // below 0: for ever
    CaptureRange capture;
    PythonLines python;
    CublasCalls cublas;
    NcclProfiler nccl_profiler;
    int64_t samples_per_step;  // 0: unknown
    char tag[1024];
    double hang_after_s;  // 0: no alarm
    char on_hang[1024];   // empty: nothing is run
    char metrics[1024];   // empty: no file
    unsigned metrics_mode;
    char cuda_homes[2][1024];  // CUDA_HOME, CUDA_PATH; empty: none, or not from the root on
};

constexpr char kDefaultOut[] = "gpushim.%h.%r.%p.db";
constexpr char kDefaultMetrics[] = "gpushim.%h.%r.%p.prom";  // in a folder

extern constinit Config config;

inline bool wants_device_times() { return config.device_time != DeviceTime::off; }

// One GPUSHIM_* name, in the one table of them.
struct SettingRow {
    const char* name;
    const char* wanted;                                // what would have been understood
    bool (*understand)(const char* text, Config& to);  // null: others read it
};
std::span<const SettingRow> settings();

// Fills `config` from the environment; complaints go to the log.
void read_config();

// "=5 is not understood (wanted: a share such as 1%)", what follows the name in a complaint. False: the text
// is understood, or none.
bool is_misunderstood(const SettingRow& row, const char* text, char* said, size_t size);

// One variable's text; what read_config does for each, and tests.
bool understand(Config& to, const char* name, const char* text);
Config default_config();

}  // namespace gpushim::shim
