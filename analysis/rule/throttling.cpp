// Clocks that are held back by heat, power or a setting while steps run. How much slower that makes a kernel
// is by its clock at most; kernels that wait for memory hardly feel it.
#include <algorithm>
#include <cstdio>

#include "../text/units.h"
#include "timed_gpus.h"

namespace gpushim::analysis::rule_throttling {

namespace {

constexpr int64_t kFewestSamples = 5;
constexpr double kOften = 0.05;  // of the samples: below it is a moment
constexpr double kLower = 0.95;  // of the free clock: above it hardly matters

struct Reason {
    const char *word, *words, *advice;
    bool is_fault;  // worth a note also where it is not known what it costs
};
constexpr Reason kReasons[] = {
    {"thermal", "heat", "throttling.thermal", true},
    {"hardware_thermal", "heat, as the hardware says", "throttling.hardware_thermal", true},
    {"power_brake", "the power supply", "throttling.power_brake", true},
    {"hardware", "the hardware", "throttling.hardware", true},
    {"power_cap", "its power limit", "throttling.power_cap", false},
    {"application_clocks", "a setting of its clocks", "throttling.application_clocks", false},
    {"sync_boost", "other GPUs of its boost group", "throttling.sync_boost", false},
    {"display", "a display", "throttling.display", false},
};

// Samples are whole seconds apart, so the time between the first one and the last is known to one of them.
struct Held {
    int64_t rowid, gpu_id;
    double share, by_one_sample;
    double free_mhz, held_mhz;  // free: 0 is not known

    double at_least() const { return std::max(0.0, share - by_one_sample); }
    double at_most() const { return std::min(1.0, share + by_one_sample); }
};

std::vector<Held> held_back(const Situation& run) {
    std::vector<Held> held;
    Query row = run.ask(
        "SELECT n.rowid, n.gpu_id, 1.0 * n.throttled_samples / (n.samples - n.idle_samples),"
        " 1.0 / (n.samples - n.idle_samples),"
        " coalesce(n.free_sm_mhz, (SELECT max(o.free_sm_mhz) FROM nvml_stat o JOIN gpu p ON p.gpu_id = "
        "o.gpu_id"
        "  WHERE p.name = g.name), 0), coalesce(n.throttled_sm_mhz, 0)"
        " FROM nvml_stat n JOIN gpu g ON g.gpu_id = n.gpu_id"
        " WHERE n.throttled_samples > 0 AND n.samples - n.idle_samples >= ?1");
    row.bind(1, kFewestSamples);
    while (row.step())
        if (row.real(2) >= kOften)
            held.push_back(
                {row.number(0), row.number(1), row.real(2), row.real(3), row.real(4), row.real(5)});
    return held;
}

// Matrix products and convolutions follow the clock; of the rest it is not known.
double eligible_share(const Situation& run, int64_t gpu_id) {
    Query row = run.ask(
        "SELECT CAST(sum(CASE WHEN eligible = 1 THEN sum_ns END) AS REAL) / sum(sum_ns) FROM kernel"
        " WHERE gpu_id = ?1");
    row.bind(1, gpu_id);
    return row.step() && !row.is_null(0) ? row.real(0) : 0;
}

const Reason* main_reason(const Situation& run, int64_t gpu_id, std::vector<Evidence>& evidence) {
    Query row =
        run.ask("SELECT rowid, reason FROM throttle WHERE gpu_id = ?1 ORDER BY samples DESC, reason LIMIT 1");
    row.bind(1, gpu_id);
    if (!row.step()) return nullptr;
    evidence.push_back({"throttle", row.number(0)});
    for (const Reason& reason : kReasons)
        if (row.text(1) == reason.word) return &reason;
    return nullptr;
}

std::string gpu_text(const Situation& run, int64_t gpu_id) {
    Query row = run.ask(
        "SELECT r.rank, g.device_id FROM gpu g LEFT JOIN rank r ON r.rank_id = g.rank_id WHERE g.gpu_id = "
        "?1");
    row.bind(1, gpu_id);
    if (!row.step()) return "a GPU";
    return "GPU " + std::to_string(row.number(1)) +
           (row.is_null(0) ? "" : " of rank " + std::to_string(row.number(0)));
}

std::string clock_text(const Held& one) {
    char text[96];
    if (one.free_mhz > 0)
        std::snprintf(text, sizeof text, "%.0f %% of the time at %.0f MHz instead of %.0f", one.share * 100,
                      one.held_mhz, one.free_mhz);
    else
        std::snprintf(text, sizeof text, "%.0f %% of the time at %.0f MHz; its full clock was never seen",
                      one.share * 100, one.held_mhz);
    return text;
}

std::optional<Finding> look(const Situation& run) {
    std::map<int64_t, Gain> by_gpu;
    const Held* worst = nullptr;
    const std::vector<Held> all = held_back(run);
    for (const Held& one : all) {
        const bool is_lower = one.free_mhz > 0 && one.held_mhz < kLower * one.free_mhz;
        const double held_ns =  // if it were held back all the time
            is_lower ? timed_gpu(run, one.gpu_id).compute_ns * (1 - one.held_mhz / one.free_mhz) : 0;
        by_gpu[one.gpu_id] = {held_ns * one.at_least() * eligible_share(run, one.gpu_id),
                              held_ns * one.at_most()};
        if (worst == nullptr || by_gpu[one.gpu_id].high_ns > by_gpu[worst->gpu_id].high_ns) worst = &one;
    }
    if (worst == nullptr) return {};
    Finding found;
    const Reason* reason = main_reason(run, worst->gpu_id, found.evidence);
    const bool is_known = by_gpu[worst->gpu_id].high_ns > 0;
    if (reason == nullptr || (!is_known && (!reason->is_fault || worst->free_mhz > 0))) return {};
    found.title =
        "the clock of " + gpu_text(run, worst->gpu_id) +
        (all.size() > 1 ? " (and " + count_text(static_cast<int64_t>(all.size()) - 1) + " more)" : "") +
        " is held back by " + reason->words + ", " + clock_text(*worst);
    found.try_it = run.advice({reason->advice});
    found.gain = run.what_if().shorter(by_gpu);
    found.kind = is_known ? Kind::kGain : Kind::kNote;
    found.confidence = 0.6;
    found.evidence.push_back({"nvml_stat", worst->rowid});
    return found;
}

constexpr Heading kHeading = {"throttled", "A clock that is held back", "the GPU's clock is held back",
                              "its full clock"};
const RuleRegistration kRegistration({"throttling", Scope::kOneGpu, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_throttling
