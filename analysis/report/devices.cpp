// What NVML showed of the devices that were used: how busy, hot and fast they were, and what held them back.
#include <algorithm>
#include <iterator>

#include "../text/escape.h"
#include "../text/units.h"
#include "../to_int64.h"
#include "facts.h"
#include "section.h"

namespace gpushim::analysis::section_devices {

namespace {

constexpr size_t kMostRows = 16;
constexpr int64_t kFewestOfSteps = 3;
constexpr const char* kNotRecorded = "not recorded";

struct Reason {
    int64_t bit;
    const char* words;
};

// Bits of `throttle_reasons` (shim/schema/README.md) that hold a device back; bit 1 says that it has nothing
// to do.
constexpr Reason kReasons[] = {
    {2, "application clocks"}, {4, "power cap"},        {8, "hardware slowdown"}, {16, "sync boost"},
    {32, "heat (software)"},   {64, "heat (hardware)"}, {128, "power brake"},     {256, "display"},
    {512, "board limit"},      {1024, "reliability"},
};

struct Device {
    int64_t id;
    std::string uuid, name;
};

struct Figures {
    std::optional<int64_t> mean, most;
};

// Of samples that were thinned each stands for the seconds until the next.
constexpr const char* kWeighted =
    " FROM (SELECT value, max(1, round((coalesce(lead(mono_ns) OVER (ORDER BY mono_ns), mono_ns) - mono_ns) "
    "/ 1e9))"
    " AS weight FROM nvml WHERE device_id = ?2 AND key = ?1)";

Figures figures_of(const Trace& trace, int64_t device, const char* key) {
    Query query = trace.base.prepare(
        std::string(
            "SELECT CAST(round(sum(value * weight) / sum(weight)) AS INTEGER), CAST(max(value) AS INTEGER)") +
        kWeighted);
    query.bind(1, std::string(key));
    query.bind(2, device);
    query.step();
    return {query.maybe(0), query.maybe(1)};
}

int64_t samples_of(const Trace& trace, int64_t device) {
    Query query = trace.base.prepare("SELECT count(DISTINCT mono_ns) FROM nvml WHERE device_id = ?");
    query.bind(1, device);
    query.step();
    return query.number(0);
}

struct Held {
    const char* by;
    double share;  // of the time
};

// Nothing where throttle reasons are not recorded; empty where nothing held it back.
std::optional<std::vector<Held>> held_back(const Trace& trace, int64_t device) {
    std::vector<Held> all;
    for (const Reason& reason : kReasons) {
        Query query = trace.base.prepare(
            std::string("SELECT total(weight), total(((CAST(value AS INTEGER) & ?3) != 0) * weight)") +
            kWeighted);
        query.bind(1, std::string("throttle_reasons"));
        query.bind(2, device);
        query.bind(3, reason.bit);
        query.step();
        if (query.real(0) == 0) return std::nullopt;
        if (query.real(1) > 0) all.push_back({reason.words, query.real(1) / query.real(0)});
    }
    return all;
}

std::string held_text(const std::optional<std::vector<Held>>& held) {
    if (!held) return kNotRecorded;
    std::string text;
    for (const Held& each : *held)
        text += (text.empty() ? "" : ", ") + std::string(each.by) + " " +
                std::to_string(to_int64(each.share * 100)) + "%";
    return text.empty() ? "nothing" : text;
}

// "620/700 W": mean and most.
std::string mean_and_most(const Figures& figures, int64_t divisor, const char* unit) {
    if (!figures.mean) return kNotRecorded;
    const auto rounded = [&](int64_t value) { return std::to_string((value + divisor / 2) / divisor); };
    return rounded(*figures.mean) + "/" + rounded(*figures.most) + unit;
}

std::string memory_of(const Figures& used, const Figures& total) {
    if (!used.most) return kNotRecorded;
    return memory_text(static_cast<double>(*used.most)) +
           (total.most ? " of " + memory_text(static_cast<double>(*total.most)) : "");
}

std::optional<double> share_of(const std::optional<int64_t>& percent) {
    return percent ? std::optional(static_cast<double>(*percent) / 100) : std::nullopt;
}

Json json_of(const Trace& trace, const Device& device, int64_t samples) {
    const auto of = [&](const char* key) { return figures_of(trace, device.id, key); };
    const Figures busy = of("gpu_busy_percent"), power = of("power_mw"), clock = of("sm_mhz"),
                  heat = of("temperature_c"), used = of("memory_used_bytes"),
                  total = of("memory_total_bytes");
    Json one = Json::object({{"rank", trace.rank},
                             {"gpu", device.uuid},
                             {"name", device.name},
                             {"simulated", device.name.starts_with("Simulated")},
                             {"samples", samples},
                             {"nvml_busy_share", share_of(busy.mean)},
                             {"nvml_busy_share_max", share_of(busy.most)},
                             {"power_mw", power.mean},
                             {"power_max_mw", power.most},
                             {"sm_mhz", clock.mean},
                             {"sm_max_mhz", clock.most},
                             {"temperature_c", heat.mean},
                             {"temperature_max_c", heat.most},
                             {"memory_used_max_bytes", used.most},
                             {"memory_total_bytes", total.most}});
    if (samples == 0) one.set("why", "NVML was not available, or the process ended within 0.2 s");
    const auto held = held_back(trace, device.id);
    Json list = Json::array();
    for (const Held& each : held.value_or(std::vector<Held>()))
        list.push(Json::object({{"by", each.by}, {"share_of_samples", each.share}}));
    one.set("held_back", held ? std::move(list) : Json(nullptr));
    return one;
}

std::vector<std::string> row_of(const Trace& trace, const Device& device, int64_t samples) {
    const auto of = [&](const char* key) { return figures_of(trace, device.id, key); };
    return {trace.label(),
            std::to_string(device.id),
            for_terminal(device.name),
            count_text(samples),
            mean_and_most(of("gpu_busy_percent"), 1, " %"),
            mean_and_most(of("power_mw"), 1000, " W"),
            mean_and_most(of("sm_mhz"), 1, " MHz"),
            mean_and_most(of("temperature_c"), 1, " C"),
            memory_of(of("memory_used_bytes"), of("memory_total_bytes")),
            held_text(held_back(trace, device.id))};
}

// What samples in slow steps showed beside those in the others, where there are enough of both.
struct InSteps {
    int64_t samples = 0;
    std::optional<double> sm_mhz, power_w, temperature_c;
};

struct SlowAndUsual {
    InSteps slow, usual;
    bool is_enough() const { return slow.samples >= kFewestOfSteps && usual.samples >= kFewestOfSteps; }
};

SlowAndUsual by_steps(const Database& run, const Trace& trace, const Device& device) {
    SlowAndUsual both;
    Query row = run.prepare(
        "SELECT v.is_slow, v.samples, v.sm_mhz, v.power_w, v.temperature_c FROM v_step_nvml v"
        " JOIN gpu g ON g.gpu_id = v.gpu_id JOIN rank r ON r.rank_id = g.rank_id"
        " WHERE r.uuid = ?1 AND g.device_id = ?2");
    row.bind(1, trace.uuid);
    row.bind(2, device.id);
    while (row.step()) {
        InSteps& which = row.number(0) != 0 ? both.slow : both.usual;
        which = {row.number(1), row.maybe_real(2), row.maybe_real(3), row.maybe_real(4)};
    }
    return both;
}

std::string in_steps_text(const InSteps& steps) {
    std::string text = count_text(steps.samples) + " samples";
    if (steps.sm_mhz) text += figure_text(", %.0f MHz", *steps.sm_mhz);
    if (steps.power_w) text += figure_text(", %.0f W", *steps.power_w);
    if (steps.temperature_c) text += figure_text(", %.0f C", *steps.temperature_c);
    return text;
}

Json in_steps_json(const InSteps& steps) {
    const char* const why = "NVML did not tell it in these steps";
    return Facts()
        .known("samples", steps.samples)
        .maybe("sm_mhz", steps.sm_mhz, why)
        .maybe("power_w", steps.power_w, why)
        .maybe("temperature_c", steps.temperature_c, why)
        .json();
}

std::vector<Device> devices_of(const Trace& trace) {
    std::vector<Device> all;
    Query query = trace.base.prepare(
        "SELECT id, uuid, name FROM device"
        " WHERE id IN (SELECT device_id FROM context UNION SELECT device_id FROM nvml) ORDER BY id");
    while (query.step()) all.push_back({query.number(0), query.text(1), query.text(2)});
    return all;
}

void write(const ReportSource& source, Report& report) {
    if (source.traces == nullptr) return;
    const Inputs& inputs = *source.traces;
    std::vector<std::vector<std::string>> rows = {{"DEVICES", "GPU", "name", "samples", "busy mean/max",
                                                   "power", "SM clock", "temperature", "memory",
                                                   "held back by"}};
    Json list = Json::array();
    std::vector<std::string> slow;
    int64_t all_samples = 0;
    for (const Trace& trace : inputs.traces) {
        for (const Device& device : devices_of(trace)) {
            const int64_t samples = samples_of(trace, device.id);
            all_samples += samples;
            rows.push_back(row_of(trace, device, samples));
            const SlowAndUsual steps = by_steps(source.run, trace, device);
            Json one = json_of(trace, device, samples);
            one.set("slow_steps", in_steps_json(steps.slow));
            one.set("usual_steps", in_steps_json(steps.usual));
            list.push(std::move(one));
            if (steps.is_enough() && slow.size() < kMostRows)
                slow.push_back("           " + trace.label() + ", GPU " + std::to_string(device.id) +
                               ": in slow steps " + in_steps_text(steps.slow) + "; in the others " +
                               in_steps_text(steps.usual));
        }
    }
    report.json.set("devices", std::move(list));
    if (rows.size() == 1) return;
    report.line("");
    if (all_samples == 0)
        return report.line(
            "DEVICES  power, clocks and temperatures: not recorded (no NVML, or the process ended within "
            "0.2 s)");
    report.table("lrlrrrrrrl", std::move(rows), kMostRows);
    for (const std::string& line : slow) report.line(line);
}

constexpr Section kSection = {"devices", write, true};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_devices
