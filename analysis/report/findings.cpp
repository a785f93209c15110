// What to do next: what is worth it, most first, and of what gains alike what one GPU can do first; then what
// people do that would not help here, and notes. By what the person gave with the command, so it may say more
// than the table `finding`.
#include <cstdio>
#include <limits>

#include "../text/units.h"
#include "../text/width.h"
#include "../to_int64.h"
#include "facts.h"
#include "hang.h"
#include "run_advice.h"
#include "section.h"
#include "trust_figures.h"

namespace gpushim::analysis::section_findings {

namespace {

constexpr size_t kMostFindings = 5, kMostTries = 3, kMostNotes = 2;
constexpr size_t kIndent = 7;

const char* word_of(Kind kind) {
    return kind == Kind::kGain ? "gain" : kind == Kind::kNoGain ? "no_gain" : "note";
}

Json json_of(const Advice& advice) {
    const Finding& finding = advice.finding;
    Json evidence = Json::array();
    for (const Evidence& row : finding.evidence)
        evidence.push(Json::object({{"table", row.table}, {"rowid", row.rowid}}));
    return Json::object({{"id", advice.rule->id},
                         {"kind", word_of(finding.kind)},
                         {"heading", advice.heading().title},
                         {"title", finding.text()},
                         {"gain_low_ns", to_int64(finding.gain.low_ns)},
                         {"gain_high_ns", to_int64(finding.gain.high_ns)},
                         {"confidence", finding.confidence},
                         {"evidence", std::move(evidence)},
                         {"try", finding.try_it}});
}

// " 1 Many small kernels: 4–8 % of a step, 151–352 us; what was seen  [small_kernels]"
std::string head_of(const Advice& one, size_t place, const RunAdvice& run) {
    const Gain& gain = one.finding.gain;
    char number[8];
    std::snprintf(number, sizeof number, "%2zu ", place);
    return number + std::string(one.heading().title) + ": " +
           shares_text(run.share_of_step(gain.low_ns), run.share_of_step(gain.high_ns)) + " of " +
           (run.is_per_step ? "a step, " : "the time, ") + times_text(gain.low_ns, gain.high_ns) + "; " +
           one.finding.text() + "  [" + one.rule->id + "]";
}

// As many as three lines hold: a sentence that is cut says nothing.
std::string whole_sentences(const std::string& text) {
    constexpr size_t kMost = 300;
    if (width_of(text) <= kMost) return text;
    const size_t end = text.rfind(". ", bytes_within(text, kMost));
    return end == std::string::npos ? text : text.substr(0, end + 1);
}

// What gains more may come behind what is easier to do.
bool is_by_gain(const RunAdvice& run) {
    double last_ns = std::numeric_limits<double>::infinity();
    for (const Advice& one : run.advice) {
        if (one.finding.kind != Kind::kGain) continue;
        const double mean_ns = (one.finding.gain.low_ns + one.finding.gain.high_ns) / 2;
        if (mean_ns > last_ns) return false;
        last_ns = mean_ns;
    }
    return true;
}

void write_gains(const RunAdvice& run, bool is_of_few, Report& report) {
    report.line("");
    report.line(std::string("WHAT TO DO (") + (is_of_few ? "by few operations, so uncertain; " : "") +
                "gain per " + run.per + ", predicted" +
                (is_by_gain(run) ? "" : "; of alike gains the easier change first") + ")");
    size_t place = 0;
    for (const Advice& one : run.advice) {
        if (one.finding.kind != Kind::kGain) continue;
        if (++place > kMostFindings) continue;
        report.paragraph(head_of(one, place, run), kIndent);
        if (place <= kMostTries)
            report.paragraph("   try " + whole_sentences(one.finding.try_it), kIndent, place > 1);
    }
    report.has_trouble = place > 0;
    if (place == 0) report.line("   no change is worth 3 % of a " + run.per);
    if (place > kMostFindings)
        report.line("   … and " + count_text(static_cast<int64_t>(place - kMostFindings)) +
                    " more: --json has them all");
}

void write_rest(const std::vector<Advice>& advice, Kind kind, const char* heading, Report& report) {
    size_t count = 0;
    for (const Advice& one : advice)
        if (one.finding.kind == kind && ++count <= kMostNotes)
            report.paragraph(
                heading + one.finding.text() + (one.finding.try_it.empty() ? "" : ". " + one.finding.try_it),
                kIndent, kind == Kind::kNoGain);
}

void write(const ReportSource& source, Report& report) {
    const RunAdvice& run = advice_of(source);
    Json list = Json::array();
    for (const Advice& one : run.advice) list.push(json_of(one));
    report.json.set("findings", std::move(list));
    if (!run.is_known) report.json.set("findings_why", run.why_unknown);
    if (run.is_known) report.json.set("gains_per", run.per);
    if (hang_of(source)) {
        report.line("");
        return report.line(
            "WHAT TO DO  find out why it hung: what the ranks that are missing did last, above");
    }
    if (!run.is_known) {
        report.line("");
        return report.paragraph("WHAT TO DO  not known: " + run.why_unknown, kIndent);
    }
    write_gains(run, too_few_with_times(source).has_value(), report);
    write_rest(run.advice, Kind::kNoGain, "no gain expected  ", report);
    write_rest(run.advice, Kind::kNote, "note  ", report);
}

constexpr Section kSection = {"findings", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_findings
