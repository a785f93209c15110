// How far the figures can be trusted: what has device times, in how much of the run, how sure they are, and
// what getting them has cost.
#include <algorithm>
#include <cstdio>
#include <map>

#include "../metric/busy.h"
#include "../text/escape.h"
#include "../text/units.h"
#include "../trace/gone.h"
#include "section.h"

namespace gpushim::analysis {

namespace {

constexpr int64_t kSlotNs = 10'000'000'000;  // whose first part is timed

struct Trust {
    bool recorded = false;   // any trace is of a schema that has device times
    bool rows_gone = false;  // some: what counts rows is of those left, and windows are at least so many
    int64_t windows = 0, operations = 0, timed = 0, legacy_events = 0;
    int64_t windows_ns = 0, run_ns = 0;
    int64_t queued = 0, unqueued = 0, host = 0;  // rows
    std::optional<int64_t> clock_error_ns, latency_ns;
    int64_t span_ns = 0, hook_ns = 0, device_time_ns = 0, host_state_ns = 0, busiest_ns = 0, writer_ns = 0;
    std::optional<double> budget;
    struct Refusal {
        std::string rank, api, why;
        std::optional<int64_t> error;
    };
    std::vector<Refusal> refusals;
};

// A window has a row for each device, of the same length. Where rows are gone, one of a device may be the sum
// of several: there they are added up by device, and the device with the most tells.
void add_windows(const Trace& trace, Trust& trust) {
    struct Sum {
        int64_t dur_ns = 0, legacy_events = 0;
    };
    std::map<int64_t, std::map<int64_t, Sum>> places;  // by start of the window or of what is gone, by device
    const Intervals gone = gone_spans(trace);
    trust.rows_gone |= !gone.empty();
    Query query = trace.base.prepare(
        "SELECT enter_ns, dur_ns, operations, timed, legacy_events, device_id FROM \"window\""
        " ORDER BY enter_ns");
    int64_t last_ns = -1;
    while (query.step()) {
        const int64_t enter_ns = query.number(0);
        const auto in = std::find_if(gone.begin(), gone.end(), [&](const Interval& span) {
            return enter_ns < span.end_ns && enter_ns + query.number(1) > span.start_ns;
        });
        Sum& sum = places[in != gone.end() ? in->start_ns : enter_ns][query.number(5)];
        sum.dur_ns += query.number(1);
        sum.legacy_events += query.number(4);
        trust.operations += query.number(2);
        trust.timed += query.number(3);
        trust.windows += enter_ns != last_ns ? 1 : 0;
        last_ns = enter_ns;
    }
    for (const auto& [start_ns, devices] : places) {
        Sum most;
        for (const auto& [device, sum] : devices)
            most = {std::max(most.dur_ns, sum.dur_ns), std::max(most.legacy_events, sum.legacy_events)};
        trust.windows_ns += most.dur_ns;
        trust.legacy_events += most.legacy_events;
    }
}

void add_rows(const Trace& trace, Trust& trust) {
    for (const std::string table : {"launch", "copy", "memset", "graph_launch"}) {
        Query levels =
            trace.base.prepare("SELECT e.queued, count(*) FROM " + table +
                               "_device d JOIN level_error e ON e.id = d.level_error_id GROUP BY 1");
        int64_t timed = 0;
        while (levels.step()) {
            (levels.number(0) != 0 ? trust.queued : trust.unqueued) += levels.number(1);
            timed += levels.number(1);
        }
        Query all = trace.base.prepare("SELECT count(*) FROM " + table + " WHERE flags & 7 = 0");
        if (all.step()) trust.host += std::max(int64_t{0}, all.number(0) - timed);
    }
}

void add_clock(const Trace& trace, Trust& trust) {
    Query query = trace.base.prepare("SELECT max(error_ns), max(latency_ns) FROM device_clock");
    while (query.step()) {
        trust.clock_error_ns = std::max(trust.clock_error_ns, query.maybe(0));
        trust.latency_ns = std::max(trust.latency_ns, query.maybe(1));
    }
}

void add_cost(const Trace& trace, Trust& trust) {
    Query query = trace.base.prepare(
        "SELECT sum(span_ns), sum(hook_ns), sum(device_time_ns), sum(host_state_ns), sum(busiest_ns),"
        " sum(writer_cpu_ns) FROM cost");
    int64_t* const numbers[] = {&trust.span_ns,       &trust.hook_ns,    &trust.device_time_ns,
                                &trust.host_state_ns, &trust.busiest_ns, &trust.writer_ns};
    if (query.step())
        for (int i = 0; i < query.columns(); ++i) *numbers[i] += query.number(i);
    Query budget = trace.base.prepare("SELECT value FROM meta WHERE key = 'budget_ppm'");
    if (budget.step()) trust.budget = std::max(trust.budget.value_or(0), budget.real(0) / 1e6);
    Query refusals = trace.base.prepare("SELECT DISTINCT api, why, error FROM refusal");
    while (refusals.step())
        trust.refusals.push_back({trace.label(), refusals.text(0), refusals.text(1), refusals.maybe(2)});
}

void add_run(const Trace& trace, Trust& trust) {
    Query query = trace.base.prepare(
        "SELECT (SELECT max(mono_ns) FROM clock) - value FROM meta WHERE key = 'started_mono_ns'");
    if (query.step()) trust.run_ns += std::max(int64_t{0}, query.number(0));
}

Trust trust_of(const Inputs& inputs) {
    Trust trust;
    for (const Trace& trace : inputs.traces) {
        add_run(trace, trust);
        if (!has_device_times(trace)) continue;
        trust.recorded = true;
        add_windows(trace, trust);
        add_rows(trace, trust);
        add_clock(trace, trust);
        add_cost(trace, trust);
    }
    return trust;
}

std::optional<double> ratio(int64_t part, int64_t whole) {
    if (whole <= 0) return {};
    return static_cast<double>(part) / static_cast<double>(whole);
}

std::string percent(double share) {
    char text[32];
    std::snprintf(text, sizeof text, share < 0.0995 ? "%.2f %%" : "%.1f %%", 100 * share);
    return text;
}

void write_level(const Trust& trust, Report& report) {
    if (trust.timed == 0) {
        report.line(
            "trust   all times are the host's: how long calls took. How long the GPU worked is not "
            "recorded.");
        return;
    }
    const auto share = ratio(trust.windows_ns, trust.run_ns);
    report.line("trust   device times by events: " + count_text(trust.timed) + " of " +
                count_text(trust.operations) + " operations in " + (trust.rows_gone ? "at least " : "") +
                count_text(trust.windows) + (trust.windows == 1 ? " window" : " windows") +
                (share ? ", " + percent(std::min(1.0, *share)) + " of the run" : ""));
    report.line("        " + count_text(trust.queued) + " waited in their queue: stamps; " +
                count_text(trust.unqueued) + " did not: estimates in bounds; " + count_text(trust.host) +
                " have the host's times only" + (trust.rows_gone ? " (of the rows that are left)" : ""));
    report.line(
        "        clocks agree within " +
        (trust.clock_error_ns ? duration_text(static_cast<double>(*trust.clock_error_ns)) : "not recorded") +
        "; latency of a launch " +
        (trust.latency_ns ? duration_text(static_cast<double>(*trust.latency_ns)) : "was not calibrated"));
}

void write_cost(const Trust& trust, Report& report) {
    const auto own = ratio(trust.busiest_ns, trust.span_ns), writer = ratio(trust.writer_ns, trust.span_ns);
    if (own)
        report.line("cost    " + percent(*own) + " of the busiest thread's time" +
                    (trust.budget ? ", of " + percent(*trust.budget) + " allowed" : "") +
                    // The slot it began in was paid for in advance.
                    (trust.budget && *own > *trust.budget && trust.span_ns < kSlotNs ? " in each 10 s" : "") +
                    "; the writer took " + percent(*writer) + " of a core");
    if (trust.legacy_events != 0)
        report.line("note    " + count_text(trust.legacy_events) +
                    " events of ours on the legacy stream, where each is a barrier (GPUSHIM_LEGACY_EVENTS=0 "
                    "leaves them out)");
    for (const Trust::Refusal& refusal : trust.refusals)
        report.line("note    " + refusal.rank + ": device times were given up: " +
                    for_terminal(refusal.api.empty() ? refusal.why : refusal.api + ": " + refusal.why));
}

Json json_of(const Trust& trust) {
    Json json = Json::object({{"level", trust.timed != 0 ? "events" : "host"}});
    if (trust.timed == 0)
        json.set("why", trust.windows == 0 ? "device times are not recorded"
                                           : "no operation in a window has device times");
    if (trust.rows_gone) json.set("rows_gone", true);
    json.set("coverage", ratio(trust.timed, trust.operations));
    const auto share = ratio(trust.windows_ns, trust.run_ns);
    json.set("timed_share", share ? Json(std::min(1.0, *share)) : Json());
    json.set("windows", trust.windows);
    json.set("clock_error_ns", trust.clock_error_ns);
    json.set("own_cost_share", ratio(trust.busiest_ns, trust.span_ns));
    json.set("budget", trust.budget);
    json.set("latency_ns", trust.latency_ns);
    json.set("operations", Json::object({{"queued", trust.queued},
                                         {"unqueued", trust.unqueued},
                                         {"host", trust.recorded ? Json(trust.host) : Json()}}));
    json.set("cost_ns", trust.span_ns == 0 ? Json()
                                           : Json::object({{"span", trust.span_ns},
                                                           {"hooks", trust.hook_ns},
                                                           {"events", trust.device_time_ns},
                                                           {"host_state", trust.host_state_ns},
                                                           {"busiest_thread", trust.busiest_ns},
                                                           {"writer_cpu", trust.writer_ns}}));
    json.set("legacy_events", trust.recorded ? Json(trust.legacy_events) : Json());
    Json refusals = Json::array();
    for (const Trust::Refusal& refusal : trust.refusals)
        refusals.push(Json::object(
            {{"trace", refusal.rank}, {"api", refusal.api}, {"error", refusal.error}, {"why", refusal.why}}));
    json.set("refusals", std::move(refusals));
    return json;
}

void write(const Inputs& inputs, Report& report) {
    const Trust trust = trust_of(inputs);
    write_level(trust, report);
    write_cost(trust, report);
    report.json.set("trust", json_of(trust));
}

constexpr Section kSection = {2, write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis
