// What ran: program, ranks, GPUs, when and for how long; and what could not be read.
#include <map>
#include <set>

#include "../text/escape.h"
#include "../text/units.h"
#include "facts.h"
#include "section.h"

namespace gpushim::analysis::section_run {

namespace {

constexpr size_t kMostNotes = 4, kMostPrograms = 4, kMostKinds = 3;
constexpr size_t kLongestNote = 300;

// "train.py", or "eval.py, train.py" where programs differ. Runs of before have only what the system ran.
std::string programs_of(const ReportSource& source) {
    std::string text;
    Query query = source.run.prepare(
        "SELECT value FROM run WHERE key = 'programs' UNION ALL SELECT DISTINCT executable FROM rank"
        " WHERE executable IS NOT NULL AND NOT EXISTS (SELECT 1 FROM run WHERE key = 'programs') ORDER BY 1");
    size_t programs = 0;
    for (; query.step(); ++programs)
        if (programs < kMostPrograms)
            text += (text.empty() ? "" : ", ") + source.name("program", query.text(0));
    return programs > kMostPrograms ? text + ", …" : text;
}

std::string ranks_text(const Database& run) {
    Query query = run.prepare("SELECT count(*), count(DISTINCT rank), max(world_size) FROM rank");
    query.step();
    const int64_t processes = query.number(0), ranks = query.number(1);
    if (ranks == 0) return count_text(processes) + (processes == 1 ? " process" : " processes");
    return count_text(ranks) + (query.is_null(2) ? "" : " of " + count_text(query.number(2))) +
           (ranks == 1 && query.number(2) <= 1 ? " rank" : " ranks") +
           (processes != ranks ? " in " + count_text(processes) + " processes" : "");
}

std::string gpus_text(const ReportSource& source) {
    std::string text;
    size_t kinds = 0;
    Query query = source.run.prepare(
        "SELECT name, count(DISTINCT coalesce(s.shared_id, g.gpu_id)) FROM gpu g"
        " LEFT JOIN shared_gpu s ON s.gpu_id = g.gpu_id"
        // A context on a GPU that has another row is none more.
        " WHERE g.gpu_id NOT IN (SELECT u.gpu_id FROM v_unused_gpu u JOIN gpu a ON a.gpu_id = u.gpu_id"
        "  JOIN gpu o ON o.uuid = a.uuid AND o.uuid <> '' AND o.gpu_id <> a.gpu_id"
        "  WHERE o.gpu_id < a.gpu_id OR o.gpu_id NOT IN (SELECT gpu_id FROM v_unused_gpu))"
        " GROUP BY name ORDER BY 2 DESC, name");
    for (; query.step(); ++kinds)
        if (kinds < kMostKinds)
            text += (text.empty() ? "" : ", ") + count_text(query.number(1)) + " x " +
                    (query.text(0).empty() ? "GPU (name not recorded)" : shown(query.text(0)));
    if (kinds > kMostKinds)
        text += ", … and " + count_text(static_cast<int64_t>(kinds - kMostKinds)) + " more kinds";
    if (!text.empty()) return text;
    if (source.number("placeless_operations").value_or(0) > 0) return "GPU not known";
    // Another tool may have been asked for the host alone, or have seen an accelerator that is no GPU.
    return source.text("sources").value_or("gpushim") == "gpushim" ? "no GPU used" : "no GPU recorded";
}

struct When {
    std::optional<int64_t> started_real_ns, span_ns;
};

When when_of(const ReportSource& source) {
    Query query = source.run.prepare("SELECT min(started_real_ns), max(last_ns - first_ns) FROM rank");
    query.step();
    const auto started = query.maybe(0);
    return {started ? started : source.number("started_real_ns"), query.maybe(1)};
}

// Their files' names are among the words, so with --redact only their number is told.
void write_list(const char* heading, const std::vector<std::string>& texts, const ReportSource& source,
                Report& report) {
    if (source.options.redact && !texts.empty())
        return report.line(heading + count_text(static_cast<int64_t>(texts.size())) + " (redacted)");
    for (size_t i = 0; i < texts.size() && i < kMostNotes; ++i)
        report.line(heading + shortened(for_terminal(texts[i]), kLongestNote));
    if (texts.size() > kMostNotes)
        report.line(heading + std::string("… and ") + std::to_string(texts.size() - kMostNotes) +
                    " more like these");
}

Json hosts_of(const ReportSource& source) {
    Json hosts = Json::array();
    Query query = source.run.prepare("SELECT DISTINCT host FROM rank WHERE host IS NOT NULL ORDER BY 1");
    while (query.step()) hosts.push(source.json_name("host", query.text(0)));
    return hosts;
}

void write(const ReportSource& source, Report& report) {
    const std::string programs = programs_of(source);
    const When when = when_of(source);
    report.line("");
    report.line("ran     " + (programs.empty() ? "program not recorded" : programs) + "   " +
                ranks_text(source.run) + "   " + gpus_text(source));
    if (when.started_real_ns)
        report.line(
            "when    " + time_text(*when.started_real_ns) +
            (when.span_ns ? ", " + duration_text(static_cast<double>(*when.span_ns)) + " of calls" : ""));
    if (source.traces != nullptr) {
        write_list("note    ", source.traces->notes, source, report);
        write_list("MISSING ", source.traces->refused, source, report);
    }
    report.json.set("run", Facts()
                               .known("program", programs)
                               .known("hosts", hosts_of(source))
                               .maybe("started_real_ns", when.started_real_ns, "not recorded")
                               .maybe("calls_span_ns", when.span_ns, "nothing was recorded")
                               .maybe("tag", source.text("tag"), "GPUSHIM_TAG was not set")
                               .json());
}

constexpr Section kSection = {"run", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_run
