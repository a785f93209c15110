// Values of the GPUSHIM_* variables: each is understood whole or not at all, and never beyond its range.
#include <cstring>
#include <iterator>
#include <string>

#include "shim/base/config.h"
#include "target.h"

namespace {

using namespace gpushim::shim;

constexpr const char* kNames[] = {
    "GPUSHIM_LOG",           "GPUSHIM_OUT",           "GPUSHIM_DEVICE_TIME",
    "GPUSHIM_BUDGET",        "GPUSHIM_MAX_MB",        "GPUSHIM_RANKS",
    "GPUSHIM_MIN_FREE_MB",   "GPUSHIM_LEGACY_EVENTS", "GPUSHIM_STEPS",
    "GPUSHIM_DELAY",         "GPUSHIM_SCHEDULE",      "GPUSHIM_DURATION",
    "GPUSHIM_CAPTURE",       "GPUSHIM_PYTHON",        "GPUSHIM_HANG_AFTER",
    "GPUSHIM_ON_HANG",       "GPUSHIM_TAG",           "GPUSHIM_SAMPLES_PER_STEP",
    "GPUSHIM_NONE",          "GPUSHIM_STAMP_GAPS",    "GPUSHIM_CUBLAS",
    "GPUSHIM_NCCL_PROFILER",
};

bool is_in_order(const Ranges& ranges) {
    if (ranges.count > std::size(ranges.range)) return false;
    for (size_t i = 0; i < ranges.count; ++i)
        if (ranges.range[i].first < 0 || ranges.range[i].last < ranges.range[i].first) return false;
    return true;
}

// The first byte says which variable.
void read(std::string_view bytes) {
    if (bytes.empty()) return;
    const char* const name = kNames[static_cast<unsigned char>(bytes[0]) % std::size(kNames)];
    const std::string text(bytes.substr(1));
    Config config = default_config();
    const Config before = config;
    if (!understand(config, name, text.c_str())) {
        fuzz::require(std::memcmp(&before, &config, sizeof config) == 0, "understood in part");
        return;
    }
    fuzz::require(
        std::memchr(config.out, 0, sizeof config.out) && std::memchr(config.tag, 0, sizeof config.tag),
        "a text without an end");
    fuzz::require(config.budget_share >= 0 && config.budget_share <= 1, "a share that is none");
    fuzz::require(config.max_bytes >= 0 && config.min_free_bytes >= 0, "a size below nothing");
    fuzz::require(config.delay_s >= 0 && config.delay_s < 1e12 && config.duration_s < 1e12, "no time");
    fuzz::require(config.samples_per_step >= 0, "samples below nothing");
    fuzz::require(is_in_order(config.ranks) && is_in_order(config.steps), "ranges that are none");
    const Schedule& s = config.schedule;
    fuzz::require(s.wait >= 0 && s.warmup >= 0 && s.active >= 0 && s.repeat >= 0, "a schedule that is none");
}

const fuzz::Registration kTarget({"settings", "values of GPUSHIM_*", read});

}  // namespace
