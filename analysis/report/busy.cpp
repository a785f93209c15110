// How busy each GPU was: the program's own share, without our events; how sure that is, and from how much of
// the run it is known.
#include "../metric/busy.h"

#include <algorithm>
#include <cstdio>

#include "../text/escape.h"
#include "../text/units.h"
#include "section.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kMostRows = 10;
constexpr size_t kMostMarks = 3;

struct Gpu {
    const Trace* trace;
    int64_t device_id;
    std::string uuid, name;
    std::optional<int64_t> memory_bytes;
    std::optional<DeviceBusy> busy;  // none: no stream of it was used
};

// A device's name is all that tells that it is none.
bool is_simulated(const std::string& name) { return name.starts_with("Simulated"); }

std::vector<Gpu> gpus_of(const Inputs& inputs) {
    std::vector<Gpu> all;
    for (const Trace& trace : inputs.traces) {
        const std::vector<DeviceBusy> busy = busy_of(trace);
        Query query = trace.base.prepare(
            "SELECT id, uuid, name, memory_bytes FROM device WHERE id IN (SELECT device_id FROM context)"
            " ORDER BY id");
        while (query.step()) {
            Gpu gpu = {&trace, query.number(0), query.text(1), query.text(2), query.maybe(3), {}};
            for (const DeviceBusy& device : busy)
                if (device.device_id == gpu.device_id) gpu.busy = device;
            all.push_back(std::move(gpu));
        }
    }
    return all;
}

std::string percent(double share) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f %%", 100 * share);
    return text;
}

// 62.1 % ±0.4, or 62.1 % (40.0 to 63.2) where one side is much wider; a bound where there is no figure.
std::string figure_text(const Figure& figure) {
    const double low = 100 * figure.low, high = 100 * figure.high;
    char text[64];
    if (!figure.share && low == 0) {
        std::snprintf(text, sizeof text, "at most %.1f %%", high);
    } else if (!figure.share) {
        std::snprintf(text, sizeof text, "%.1f to %.1f %%", low, high);
    } else {
        const double share = 100 * *figure.share;
        const double less = share - low, more = high - share, off = std::max(less, more);
        if (off > 2 * std::min(less, more) + 0.5)
            std::snprintf(text, sizeof text, "%.1f %% (%.1f to %.1f)", share, low, high);
        else
            std::snprintf(text, sizeof text, "%.1f %% ±%.1f", share, off);
    }
    return text;
}

std::string basis_text(const DeviceBusy& busy) {
    if (busy.level() == "host") return busy.may_be_busy_ns == 0 ? "nothing ran" : busy.why();
    const auto count = static_cast<int64_t>(busy.windows.size());
    const std::string windows = count_text(count) + (count == 1 ? " window" : " windows");
    return (busy.sampled() ? "sampled: " : "") + windows + ", " + percent(busy.timed_share()) + " of the run";
}

void set(Json& json, const std::string& key, const Figure& figure) {
    json.set(key, figure.share);
    json.set(key + "_low", figure.low);
    json.set(key + "_high", figure.high);
}

Json json_of(const SpanBusy& busy) {
    return Json::object({{"from_ns", busy.span.start_ns},
                         {"until_ns", busy.span.end_ns},
                         {"slot", busy.window.slot},
                         {"coverage", busy.coverage()},
                         {"operations", busy.operations},
                         {"refused", is_refused(busy)},
                         {"queued", busy.queued},
                         {"unqueued", busy.unqueued},
                         {"as_it_ran_ns", busy.busy_ns},
                         {"as_it_ran_low_ns", busy.low_ns},
                         {"as_it_ran_high_ns", busy.high_ns},
                         {"without_us", busy.undisturbed},
                         {"busy_ns", busy.estimate.part_ns},
                         {"window_ns", busy.estimate.whole_ns},
                         {"busy_share_low", ratio_of({&busy.at_least, 1})},
                         {"busy_share_high", ratio_of({&busy.at_most, 1})}});
}

void add_busy(Json& json, const DeviceBusy& busy) {
    int64_t window_ns = 0;
    bool undisturbed = true;
    Json windows = Json::array();
    for (const SpanBusy& span : busy.windows) {
        if (!is_refused(span)) window_ns += span.estimate.whole_ns;
        undisturbed = undisturbed && span.undisturbed;
        windows.push(json_of(span));
    }
    const Figure figure = busy.without_us();
    json.set("level", busy.level());
    json.set("window_ns", busy.level() == "host" ? busy.run.length_ns() : window_ns);
    set(json, "busy_share", figure);
    json.set("idle_share", figure.share ? Json(1 - *figure.share) : Json());
    if (!busy.why().empty()) json.set("why", busy.why());
    set(json, "busy_share_as_it_ran", busy.as_it_ran());
    json.set("without_us", busy.level() != "host" && undisturbed);
    json.set("sampled", busy.level() != "host" && busy.sampled());
    json.set("coverage", busy.coverage());
    json.set("timed_share", busy.timed_share());
    json.set("run_from_ns", busy.run.start_ns);
    json.set("run_until_ns", busy.run.end_ns);
    json.set("windows", std::move(windows));
}

void write(const Inputs& inputs, Report& report) {
    std::vector<std::vector<std::string>> rows = {
        {"GPU", "device", "busy", "as it ran", "level", "known from"}};
    std::vector<std::string> marks;
    Json list = Json::array();
    for (const Gpu& gpu : gpus_of(inputs)) {
        Json json = Json::object({{"rank", gpu.trace->rank},
                                  {"device", gpu.device_id},
                                  {"gpu", gpu.uuid},
                                  {"name", gpu.name},
                                  {"simulated", is_simulated(gpu.name)},
                                  {"memory_total_bytes", gpu.memory_bytes}});
        if (gpu.busy) {
            add_busy(json, *gpu.busy);
            rows.push_back({gpu.trace->label(), std::to_string(gpu.device_id),
                            figure_text(gpu.busy->without_us()), figure_text(gpu.busy->as_it_ran()),
                            gpu.busy->level(), basis_text(*gpu.busy)});
        }
        if (gpu.busy && gpu.busy->coverage().value_or(1) < kMarkedCoverage)
            marks.push_back("  of " + gpu.trace->label() + "'s operations on device " +
                            std::to_string(gpu.device_id) + " in windows " + percent(*gpu.busy->coverage()) +
                            " have device times");
        list.push(std::move(json));
    }
    report.json.set("gpus", std::move(list));
    if (rows.size() == 1) return;
    report.line("");
    report.table("lrrrll", std::move(rows), kMostRows);
    for (size_t i = 0; i < marks.size() && i < kMostMarks; ++i) report.line(marks[i]);
    if (marks.size() > kMostMarks)
        report.line("  … and " + std::to_string(marks.size() - kMostMarks) + " more like these");
}

constexpr Section kSection = {5, write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis
