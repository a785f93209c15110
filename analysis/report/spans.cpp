// Which spans of time have all their rows, and which are in the totals only.
#include <algorithm>

#include "../text/units.h"
#include "../trace/dropped_spans.h"
#include "section.h"

namespace gpushim::analysis::section_spans {

namespace {

struct Spans {
    int64_t run_ns = 0, gone_ns = 0, calls = 0;
    Json gone = Json::array();
};

void add(const Trace& trace, Spans& spans) {
    Query run = trace.base.prepare(
        "SELECT (SELECT max(mono_ns) FROM clock) - value FROM meta WHERE key = 'started_mono_ns'");
    if (run.step()) spans.run_ns += std::max(int64_t{0}, run.number(0));
    if (trace.base.is_of_first_schema()) return;
    for (const Interval& gone : dropped_spans(trace)) {
        spans.gone_ns += gone.length_ns();
        spans.gone.push(
            Json::object({{"trace", trace.label()}, {"from_ns", gone.start_ns}, {"until_ns", gone.end_ns}}));
    }
    Query calls = trace.base.prepare("SELECT sum(recorded + recovered + unfinished) FROM summarised");
    if (calls.step()) spans.calls += calls.number(0);
}

void write(const ReportSource& source, Report& report) {
    if (source.traces == nullptr) return;
    const Inputs& inputs = *source.traces;
    Spans spans;
    for (const Trace& trace : inputs.traces) add(trace, spans);
    const int64_t full_ns = std::max(int64_t{0}, spans.run_ns - spans.gone_ns);
    if (spans.gone_ns != 0)
        report.line("rows    " + duration_text(static_cast<double>(full_ns)) + " of " +
                    duration_text(static_cast<double>(std::max(spans.run_ns, spans.gone_ns))) +
                    " have all their rows (the first minutes, the slowest 10 s, and every n-th after that); "
                    "of the rest " +
                    count_text(spans.calls) + " calls are in the totals only (table summarised)");
    report.json.set("spans", Json::object({{"full_ns", full_ns},
                                           {"summarised_ns", spans.gone_ns},
                                           {"summarised_calls", spans.calls},
                                           {"summarised", std::move(spans.gone)}}));
}

constexpr Section kSection = {"spans", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_spans
