// What a program that serves does: its iterations by kind, how evenly tokens come, why its GPUs are idle.
#include "../text/units.h"
#include "../to_int64.h"
#include "facts.h"
#include "requests.h"
#include "section.h"
#include "serving_figures.h"
#include "step_figures.h"

namespace gpushim::analysis::section_serving {

namespace {

std::string time_text(std::optional<int64_t> ns) {
    return ns ? duration_text(static_cast<double>(*ns)) : "-";
}

std::string maybe_percent(std::optional<double> share) { return share ? percent_text(*share) : "-"; }

Json percentiles_json(const Percentiles& of, const char* why) {
    return Facts()
        .maybe("p50_ns", of.p50_ns, why)
        .maybe("p95_ns", of.p95_ns, why)
        .maybe("p99_ns", of.p99_ns, why)
        .json();
}

constexpr const char* kHidden =
    "its graphs hold collectives, which are not told apart from kernels beside them";

Json json_of(const KindOfIteration& kind, const ServingFigures& all) {
    const char* const untimed = "no iteration of this kind was timed as a whole";
    return Facts()
        .known("kind", kind.kind)
        .known("iterations", kind.iterations)
        .known("classes", kind.classes)
        .known("without_graph", kind.without_graph)
        .known("loading", kind.loading)
        .maybe("loading_p50_ns", kind.loading_ns, "no code was loaded in one of this kind")
        .maybe("others_p50_ns", kind.others_ns, "code was loaded in each of this kind")
        .maybe("time_share", share_of(kind.time_ns, all.time_ns), "no time")
        .known("length", percentiles_json(kind.length, "no iteration counts"))
        .maybe("compute_share", kind.compute, untimed)
        .maybe("exposed_communication_share", kind.exposed, kind.hides_collectives ? kHidden : untimed)
        .maybe("memory_share", kind.memory, untimed)
        .maybe("idle_share", kind.idle, untimed)
        .json();
}

Json json_of(const Request& request, const Requests& all, const ReportSource& source) {
    return Facts()
        .known("name", source.json_name("request", request.name))
        .known("latency_ns", request.latency_ns)
        .maybe("queued_ns", request.queued_ns, all.why_not_queued)
        .known("decodes_ns", to_int64(request.decodes_ns))
        .known("prefills_ns", to_int64(request.prefills_ns))
        .known("idle_ns", to_int64(request.idle_ns))
        .json();
}

Json json_of(const Requests& requests, const ReportSource& source) {
    Json slowest = Json::array();
    for (const Request& request : requests.slowest) slowest.push(json_of(request, requests, source));
    return Facts()
        .known("ended", requests.ended)
        .known("open", requests.open)
        .maybe("per_s", requests.per_second > 0 ? std::optional(requests.per_second) : std::nullopt,
               "fewer than two moments are known")
        .known("latency", percentiles_json(requests.latency, "none has ended"))
        .known("queued", percentiles_json(requests.queued, requests.why_not_queued.empty()
                                                               ? "none has ended"
                                                               : requests.why_not_queued.c_str()))
        .known("slowest", std::move(slowest))
        .json();
}

void write_requests(const Requests& requests, const ReportSource& source, Report& report) {
    std::string text = "REQUESTS   " + count_text(requests.ended) + " ended";
    if (requests.open > 0) text += ", " + count_text(requests.open) + " did not";
    if (requests.latency.p50_ns)
        text += "; " + rate_text_of(requests.per_second) + "/s, " + time_text(requests.latency.p50_ns) +
                " median, " + time_text(requests.latency.p95_ns) + " p95, " +
                time_text(requests.latency.p99_ns) + " p99";
    if (requests.queued.p50_ns)
        text += "; queued " + time_text(requests.queued.p50_ns) + " median (inferred)";
    report.line(text);
    std::vector<std::vector<std::string>> rows = {
        {"slowest", "latency", "queued", "decodes", "prefills", "GPU idle"}};
    for (const Request& request : requests.slowest)
        rows.push_back({source.name("request", request.name), time_text(request.latency_ns),
                        time_text(request.queued_ns), duration_text(request.decodes_ns),
                        duration_text(request.prefills_ns), duration_text(request.idle_ns)});
    if (rows.size() > 1) report.table("lrrrrr", std::move(rows), Requests::kMostShown);
}

void write_json(const ServingFigures& figures, const std::optional<Requests>& requests,
                const ReportSource& source, Report& report) {
    Json kinds = Json::array(), idle = Json::array();
    for (const KindOfIteration& kind : figures.kinds) kinds.push(json_of(kind, figures));
    for (const auto& [why, share] : figures.idle) idle.push(Json::object({{"why", why}, {"share", share}}));
    const std::string none =
        figures.serves() ? "no iterations were found" : "the program is not known to serve";
    report.json.set(
        "serving",
        Facts()
            .known("program", figures.program.empty() ? "not known" : figures.program)
            .known("confidence", figures.confidence)
            .known("basis", figures.why)
            .maybe("iterations_per_s",
                   figures.has_iterations() ? std::optional(figures.per_second()) : std::nullopt, none)
            .known("between_tokens", percentiles_json(figures.tokens, none.c_str()))
            .known("kinds", std::move(kinds))
            .known("idle", std::move(idle))
            .maybe("requests", requests ? std::optional(json_of(*requests, source)) : std::nullopt,
                   figures.serves() ? "no range is called a request" : none)
            .json());
}

// By times of the host, so that it is known of iterations in no window, too.
void write_loads(const KindOfIteration& kind, Report& report) {
    constexpr double kOften = 0.01;
    if (static_cast<double>(kind.loading) < kOften * static_cast<double>(kind.iterations)) return;
    if (kind.loading == 0) return;
    report.line("           " + kind.kind + ": code is compiled or loaded in " + count_text(kind.loading) +
                " of " + count_text(kind.iterations) + ", " + time_text(kind.loading_ns) + " median" +
                (kind.others_ns ? "; without that " + time_text(kind.others_ns) : ""));
}

void write_text(const ServingFigures& figures, Report& report) {
    std::string text = "SERVING    " + rate_text_of(figures.per_second()) + " iterations/s";
    if (figures.tokens.p50_ns)
        text += "; from token to token " + time_text(figures.tokens.p50_ns) + " median, " +
                time_text(figures.tokens.p95_ns) + " p95, " + time_text(figures.tokens.p99_ns) + " p99";
    report.line(text);
    report.paragraph("           it serves: " + figures.why + " (" + sure_text(figures.confidence) + ")", 11,
                     true);
    std::vector<std::vector<std::string>> rows = {
        {"", "iterations", "of time", "median", "p95", "p99", "compute",
         figures.knows_waits ? "exposed comm" : "comm, waits too", "memory", "idle"}};
    for (const KindOfIteration& kind : figures.kinds)
        rows.push_back({kind.kind, count_text(kind.iterations),
                        maybe_percent(share_of(kind.time_ns, figures.time_ns)), time_text(kind.length.p50_ns),
                        time_text(kind.length.p95_ns), time_text(kind.length.p99_ns),
                        maybe_percent(kind.compute), maybe_percent(kind.exposed), maybe_percent(kind.memory),
                        maybe_percent(kind.idle)});
    report.table("lrrrrrrrrr", std::move(rows), 8);
    for (const KindOfIteration& kind : figures.kinds) write_loads(kind, report);
    std::string idle;
    for (const auto& [why, share] : figures.idle)
        if (share >= 0.001)
            idle += (idle.empty() ? "" : ", ") + figures.words_of(why) + " " + percent_text(share);
    if (!idle.empty()) report.paragraph("           idle: " + idle, 11);
}

void write(const ReportSource& source, Report& report) {
    const ServingFigures& figures = serving_figures(source);
    const std::optional<Requests> requests = figures.serves() ? requests_of(source) : std::nullopt;
    report.is_of_steps = source.is_part_of_run() && figures.has_iterations();
    write_json(figures, requests, source, report);
    if (figures.has_iterations()) write_text(figures, report);
    if (requests) write_requests(*requests, source, report);
}

constexpr Section kSection = {"serving", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_serving
