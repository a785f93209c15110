// What NVML showed of the GPUs, once a second: how busy, fast and hot they were, and what held them back.
#include "../chart/page.h"
#include "../chart/table.h"
#include "../report/gpu_label.h"
#include "../text/units.h"
#include "figures.h"
#include "over_time.h"

namespace gpushim::analysis::part_condition {

namespace {

constexpr size_t kMostRows = 100;

std::string with_unit(double value, const char* unit) { return count_axis(value) + unit; }

constexpr CurveWords kCurves[] = {
    {"gpu_busy_percent", "nvml-busy", "NVML's GPU utilisation", [](double v) { return with_unit(v, " %"); },
     1, true},
    {"sm_mhz", "nvml-clock", "Clock of the multiprocessors", [](double v) { return with_unit(v, " MHz"); }, 1,
     false},
    {"power_mw", "nvml-power", "Power", [](double v) { return with_unit(v, " W"); }, 1e-3, true},
    {"temperature_c", "nvml-heat", "Temperature", [](double v) { return with_unit(v, " °C"); }, 1, false},
    {"memory_used_bytes", "nvml-memory", "Memory in use, of all processes", memory_text, 1, true, true},
};

Markup held_back(const PageInput& input) {
    const auto labels = gpu_labels(input.source.run);
    PageTable rows = {
        "What held clocks back", "llrr", {"GPU", "reason", "samples", "clock meanwhile"}, {}, ""};
    Query query = input.source.run.prepare(
        "SELECT gpu_id, reason, samples, sm_mhz FROM throttle ORDER BY samples DESC, gpu_id, reason");
    while (query.step()) {
        const auto found = labels.find(query.number(0));
        if (found == labels.end()) continue;
        if (rows.rows.size() == kMostRows) {
            rows.rest = "Those " + std::to_string(kMostRows) + " with the most samples.";
            break;
        }
        rows.rows.push_back({found->second.text,
                             query.text(1),
                             {count_text(query.number(2)), query.real(2)},
                             query.is_null(3) ? TableCell(kNotThere)
                                              : TableCell(with_unit(query.real(3), " MHz"), query.real(3))});
    }
    Query samples = input.source.run.prepare("SELECT count(*) FROM nvml_stat");
    if (rows.rows.empty())
        return samples.step() && samples.number(0) > 0 ? paragraph("Nothing held clocks back.") : Markup();
    Markup all = element("h3", {}, "What held clocks back");
    all += table(rows);
    return all;
}

Markup write(const PageInput& input) {
    if (is_imported(input.report)) return {};  // other tools' traces have no samples of NVML
    Markup all;
    for (const CurveWords& words : kCurves) all += curve_of(input, words);
    if (all.empty()) return missing("NVML was not available, or the process ended within 0.2 s");
    all += held_back(input);
    return all;
}

constexpr ReportPart kPart = {"condition", "Clocks and power", write};
const ReportPartRegistration kRegistration(kPart);

}  // namespace

}  // namespace gpushim::analysis::part_condition
