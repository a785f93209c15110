// What to do next: what is worth it, in the order in which to do it; then what people do that would not help
// here, and notes. By what the person gave with the command, so it may say more than the table `finding`.
#include <cctype>
#include <cstdio>

#include "../advice/advise.h"
#include "../kernel/short_name.h"
#include "../text/units.h"
#include "../to_int64.h"
#include "facts.h"
#include "hang.h"
#include "section.h"

namespace gpushim::analysis::section_findings {

namespace {

constexpr size_t kMostFindings = 5, kMostTries = 3, kMostNotes = 2;
constexpr size_t kIndent = 7;
constexpr const char* kOrder = "one GPU first";

const char* word_of(Kind kind) {
    return kind == Kind::kGain ? "gain" : kind == Kind::kNoGain ? "no_gain" : "note";
}

bool is_part_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// What rules say names kernels as they are called.
void hide(const std::string& name, const std::string& instead, std::string& text) {
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
        const size_t end = at + name.size();
        const bool is_whole = (at == 0 || !is_part_of_word(text[at - 1])) &&
                              (end == text.size() || !is_part_of_word(text[end]));
        if (is_whole) text.replace(at, name.size(), instead);
        at += is_whole ? instead.size() : 1;
    }
}

void redact(const ReportSource& source, std::vector<Advice>& advice) {
    for (Advice& one : advice) one.finding.where.clear();
    Query names = source.run.prepare("SELECT DISTINCT name FROM kernel ORDER BY length(name) DESC, name");
    while (names.step()) {
        const std::string name = names.text(0), instead = source.name("kernel", name);
        for (Advice& one : advice)
            for (const std::string& said : {name, cut_short_name(name)})
                if (!said.empty()) hide(said, instead, one.finding.title);
    }
}

Json json_of(const Advice& advice) {
    const Finding& finding = advice.finding;
    Json evidence = Json::array();
    for (const Evidence& row : finding.evidence)
        evidence.push(Json::object({{"table", row.table}, {"rowid", row.rowid}}));
    return Json::object({{"id", advice.rule->id},
                         {"kind", word_of(finding.kind)},
                         {"title", finding.text()},
                         {"gain_low_ns", to_int64(finding.gain.low_ns)},
                         {"gain_high_ns", to_int64(finding.gain.high_ns)},
                         {"confidence", finding.confidence},
                         {"evidence", std::move(evidence)},
                         {"try", finding.try_it}});
}

// "4.10-4.80 ms": both ends in the unit of the larger.
std::string range_text(const Gain& gain) {
    const double high = gain.high_ns, unit = high >= 1e6 ? 1e6 : high >= 1e3 ? 1e3 : 1;
    const char* const name = unit == 1e6 ? "ms" : unit == 1e3 ? "us" : "ns";
    char text[64];
    std::snprintf(text, sizeof text, high / unit >= 100 ? "%.0f-%.0f %s" : "%.1f-%.1f %s", gain.low_ns / unit,
                  high / unit, name);
    return text;
}

void write_gains(const std::vector<Advice>& advice, const std::string& per, Report& report) {
    report.line("");
    report.line("WHAT TO DO (gain per " + per + ", predicted; " + kOrder + ")");
    size_t place = 0;
    for (const Advice& one : advice) {
        if (one.finding.kind != Kind::kGain) continue;
        if (++place > kMostFindings) continue;
        char head[96];
        std::snprintf(head, sizeof head, "%2zu %-21s %s  ", place, one.rule->id,
                      range_text(one.finding.gain).c_str());
        report.paragraph(head + one.finding.text(), kIndent);
        if (place <= kMostTries) report.paragraph("   try " + one.finding.try_it, kIndent);
    }
    if (place == 0) report.line("   no change is worth 3 % of a " + per);
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
                kIndent);
}

void write(const ReportSource& source, Report& report) {
    const ReportOptions& asked = source.options;
    const Situation run(source.run.raw(),
                        {asked.params, asked.samples_per_step, asked.bandwidth_bytes_per_s});
    std::vector<Advice> advice = advise(run);
    if (source.options.redact) redact(source, advice);
    Json list = Json::array();
    for (const Advice& one : advice) list.push(json_of(one));
    report.json.set("findings", std::move(list));
    if (!run.is_known()) {
        report.json.set("findings_why", "nothing was timed");
        return report.line("WHAT TO DO  not known: nothing was timed");
    }
    if (hang_of(source)) {
        report.line("");
        return report.line(
            "WHAT TO DO  find out why it hung: what the ranks that are missing did last, above");
    }
    write_gains(advice, run.per(), report);
    write_rest(advice, Kind::kNoGain, "no gain expected  ", report);
    write_rest(advice, Kind::kNote, "note  ", report);
}

constexpr Section kSection = {"findings", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_findings
