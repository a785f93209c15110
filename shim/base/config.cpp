#include "config.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "log.h"

namespace gpushim::shim {

constinit Config config = {};

namespace {

constexpr int64_t kMegabyte = 1 << 20;
constexpr int64_t kLargest = INT64_MAX / 2;
constexpr int64_t kLongestGapNs = 1'000'000;  // no bound of a time grows out of its range by it

// --- kinds of values: each takes the whole text or says no

bool number(const char*& text, int64_t& to) {
    if (*text < '0' || *text > '9') return false;
    char* end;
    errno = 0;
    to = strtoll(text, &end, 10);
    text = end;
    return errno == 0 && to <= kLargest;
}

bool whole_number(const char* text, int64_t& to) { return number(text, to) && *text == '\0'; }

bool megabytes(const char* text, int64_t& bytes) {
    if (!whole_number(text, bytes) || bytes > kLargest / kMegabyte) return false;
    bytes *= kMegabyte;
    return true;
}

bool real_number(const char* text, const char* rest, double& to) {
    if ((*text < '0' || *text > '9') && *text != '.') return false;
    char* end;
    to = strtod(text, &end);
    return strcmp(end, rest) == 0 && to < 1e12;
}

bool text_value(const char* text, char* to, size_t size) {
    const size_t length = strlen(text);
    if (length == 0 || length >= size) return false;
    memcpy(to, text, length + 1);
    return true;
}

bool is_switch(const char* text, bool& to) {
    if ((text[0] != '0' && text[0] != '1') || text[1] != '\0') return false;
    to = text[0] == '1';
    return true;
}

// 600 or 0644: what a file is allowed, in octal digits; its owner may always read and write it.
bool file_mode(const char* text, unsigned& to) {
    char* end;
    const unsigned long mode = strtoul(text, &end, 8);
    if (*text < '0' || *text > '7' || *end != '\0' || (mode & ~0666ul) != 0 || (mode & 0600) != 0600)
        return false;
    to = static_cast<unsigned>(mode);
    return true;
}

// One of `words`, in the order of the enum's values.
template <class E, size_t N>
bool word_value(const char* text, const char* const (&words)[N], E& to) {
    for (size_t i = 0; i < N; ++i) {
        if (strcmp(text, words[i]) != 0) continue;
        to = static_cast<E>(i);
        return true;
    }
    return false;
}

// 0,8-15 with '-', 20:40 with ':'.
bool range_list(const char* text, char between, Ranges& to) {
    to.count = 0;
    for (;; ++text) {
        Range range;
        if (to.count == std::size(to.range) || !number(text, range.first)) return false;
        range.last = range.first;
        if (*text == between && !number(++text, range.last)) return false;
        if (range.last < range.first) return false;
        to.range[to.count++] = range;
        if (*text == '\0') return true;
        if (*text != ',') return false;
    }
}

bool schedule_value(const char* text, Schedule& to) {
    int64_t* const parts[] = {&to.wait, &to.warmup, &to.active, &to.repeat};
    for (size_t i = 0; i < std::size(parts); ++i) {
        if (!number(text, *parts[i])) return false;
        if (*text++ != (i + 1 < std::size(parts) ? ':' : '\0')) return false;
    }
    return to.active > 0;
}

bool share_value(const char* text, double& to) {
    double percent;
    if (!real_number(text, "%", percent) || percent > 100) return false;
    to = percent / 100;
    return true;
}

// 900,1100,800,1000: each gap, and the most that it is.
bool gaps_value(const char* text, StampGapsSetting& to) {
    int64_t* const parts[] = {&to.before_ns, &to.before_high_ns, &to.after_ns, &to.after_high_ns};
    for (size_t i = 0; i < std::size(parts); ++i) {
        if (!number(text, *parts[i]) || *parts[i] > kLongestGapNs) return false;
        if (*text++ != (i + 1 < std::size(parts) ? ',' : '\0')) return false;
    }
    to.is_given = true;
    return to.before_ns <= to.before_high_ns && to.after_ns <= to.after_high_ns;
}

// --- the variables

constexpr const char* kLogLevels[] = {"off", "error", "warn", "info", "debug"};
constexpr const char* kDeviceTimes[] = {"auto", "off", "events", "cupti"};
constexpr const char* kPythonLines[] = {"auto", "off"};
constexpr const char* kCublasCalls[] = {"auto", "off"};
constexpr const char* kNcclProfilers[] = {"off", "network", "all"};
constexpr const char* kRecoveries[] = {"own", "all"};
constexpr const char* kCaptureRanges[] = {"all", "profiler"};

// The level of the log first: it decides whether the others' complaints are seen.
constexpr SettingRow kRows[] = {
    {"GPUSHIM_LOG", "off, error, warn, info or debug",
     [](const char* t, Config& c) { return word_value(t, kLogLevels, c.log); }},
    {"GPUSHIM_OUT", "a path of at most 1023 bytes",
     [](const char* t, Config& c) { return text_value(t, c.out, sizeof c.out); }},
    {"GPUSHIM_DEVICE_TIME", "auto, off, events or cupti",
     [](const char* t, Config& c) { return word_value(t, kDeviceTimes, c.device_time); }},
    {"GPUSHIM_BUDGET", "a share such as 1%",
     [](const char* t, Config& c) { return share_value(t, c.budget_share); }},
    {"GPUSHIM_STAMP_GAPS", "four numbers of ns such as 900,1100,800,1000",
     [](const char* t, Config& c) { return gaps_value(t, c.stamp_gaps); }},
    {"GPUSHIM_MAX_MB", "a number", [](const char* t, Config& c) { return megabytes(t, c.max_bytes); }},
    {"GPUSHIM_MIN_FREE_MB", "a number",
     [](const char* t, Config& c) { return megabytes(t, c.min_free_bytes); }},
    {"GPUSHIM_LEGACY_EVENTS", "0 or 1",
     [](const char* t, Config& c) { return is_switch(t, c.legacy_events); }},
    {"GPUSHIM_RECOVER", "all or own",
     [](const char* t, Config& c) { return word_value(t, kRecoveries, c.recovers_all); }},
    {"GPUSHIM_RANKS", "ranks such as 0,8-15",
     [](const char* t, Config& c) { return range_list(t, '-', c.ranks); }},
    {"GPUSHIM_STEPS", "steps such as 20:40",
     [](const char* t, Config& c) { return range_list(t, ':', c.steps); }},
    {"GPUSHIM_SCHEDULE", "wait:warmup:active:repeat",
     [](const char* t, Config& c) { return schedule_value(t, c.schedule); }},
    {"GPUSHIM_DELAY", "seconds", [](const char* t, Config& c) { return real_number(t, "", c.delay_s); }},
    {"GPUSHIM_DURATION", "seconds",
     [](const char* t, Config& c) { return real_number(t, "", c.duration_s); }},
    {"GPUSHIM_CAPTURE", "all or profiler",
     [](const char* t, Config& c) { return word_value(t, kCaptureRanges, c.capture); }},
    {"GPUSHIM_PYTHON", "auto or off",
     [](const char* t, Config& c) { return word_value(t, kPythonLines, c.python); }},
    {"GPUSHIM_CUBLAS", "auto or off",
     [](const char* t, Config& c) { return word_value(t, kCublasCalls, c.cublas); }},
    {"GPUSHIM_NCCL_PROFILER", "off, network or all",
     [](const char* t, Config& c) { return word_value(t, kNcclProfilers, c.nccl_profiler); }},
    {"GPUSHIM_SAMPLES_PER_STEP", "a number",
     [](const char* t, Config& c) { return whole_number(t, c.samples_per_step); }},
    {"GPUSHIM_TAG", "key=value,… of at most 1023 bytes",
     [](const char* t, Config& c) {
         return strchr(t, '=') != nullptr && text_value(t, c.tag, sizeof c.tag);
     }},
    {"GPUSHIM_HANG_AFTER", "seconds; 0 for no alarm",
     [](const char* t, Config& c) { return real_number(t, "", c.hang_after_s); }},
    {"GPUSHIM_ON_HANG", "a command of at most 1023 bytes",
     [](const char* t, Config& c) { return text_value(t, c.on_hang, sizeof c.on_hang); }},
    {"GPUSHIM_METRICS", "a path of at most 1023 bytes",
     [](const char* t, Config& c) { return text_value(t, c.metrics, sizeof c.metrics); }},
    {"GPUSHIM_METRICS_MODE", "octal digits such as 640",
     [](const char* t, Config& c) { return file_mode(t, c.metrics_mode); }},
    // what the command of GPUSHIM_ON_HANG finds in its environment
    {"GPUSHIM_HANG_PID", "", nullptr},
    // lifecycle, because it counts before anything else; run_notes
    {"GPUSHIM_DISABLE", "1", nullptr},
    {"GPUSHIM_RUN_NOTES", "", nullptr},
    // What the project's own scripts and tests are told.
    {"GPUSHIM_BUILD", "", nullptr},
    {"GPUSHIM_HTA_PYTHON", "", nullptr},
    {"GPUSHIM_LIGHTNING_PYTHON", "", nullptr},
    {"GPUSHIM_NOTEBOOK_PYTHON", "", nullptr},
    {"GPUSHIM_PACKAGES_PYTHON", "", nullptr},
    {"GPUSHIM_PEERS", "", nullptr},
    {"GPUSHIM_PERFETTO", "", nullptr},
    {"GPUSHIM_REAL_TRACES", "", nullptr},
    {"GPUSHIM_TENSORBOARD_PYTHON", "", nullptr},
    {"GPUSHIM_TRACES", "", nullptr},
    {"GPUSHIM_TRACKERS_PYTHON", "", nullptr},
};

constexpr const char* kCudaHomes[] = {"CUDA_HOME", "CUDA_PATH"};
static_assert(std::size(kCudaHomes) == std::size(Config{}.cuda_homes));

}  // namespace

bool Ranges::has(int64_t number) const {
    for (size_t i = 0; i < count; ++i)
        if (number >= range[i].first && number <= range[i].last) return true;
    return count == 0;
}

Config default_config() {
    Config defaults = {};
    strcpy(defaults.out, kDefaultOut);
    defaults.log = LogLevel::warn;
    defaults.budget_share = 0.01;
    defaults.max_bytes = 2048 * kMegabyte;
    defaults.min_free_bytes = 256 * kMegabyte;
    defaults.legacy_events = true;
    defaults.recovers_all = true;
    defaults.duration_s = -1;
    defaults.hang_after_s = 300;
    defaults.metrics_mode = 0600;
    return defaults;
}

std::span<const SettingRow> settings() { return kRows; }

bool understand(Config& to, const char* name, const char* text) {
    for (const SettingRow& row : kRows) {
        if (row.understand == nullptr || strcmp(row.name, name) != 0) continue;
        // Into a copy: what is understood in part must leave no trace.
        Config changed = to;
        if (!row.understand(text, changed)) return false;
        to = changed;
        return true;
    }
    return false;
}

bool is_misunderstood(const SettingRow& row, const char* text, char* said, size_t size) {
    Config tried = {};
    if (row.understand == nullptr || *text == '\0' || row.understand(text, tried)) return false;
    char shown[64];
    size_t length = 0;
    for (; text[length] != '\0' && length < sizeof shown - 1; ++length)
        shown[length] = text[length] >= ' ' && text[length] <= '~' ? text[length] : '?';
    shown[length] = '\0';
    snprintf(said, size, "=%s is not understood (wanted: %s)", shown, row.wanted);
    return true;
}

void read_config() {
    config = default_config();
    for (const SettingRow& row : kRows) {
        const char* text = getenv(row.name);
        char said[256];
        if (text == nullptr || *text == '\0') continue;
        if (is_misunderstood(row, text, said, sizeof said))
            log_line(LogLevel::warn, "%s%s; the default is used", row.name, said);
        else
            understand(config, row.name, text);
    }
    for (size_t i = 0; i < std::size(kCudaHomes); ++i) {
        const char* text = getenv(kCudaHomes[i]);
        if (text != nullptr && *text == '/')
            text_value(text, config.cuda_homes[i], sizeof config.cuda_homes[i]);
    }
}

}  // namespace gpushim::shim
