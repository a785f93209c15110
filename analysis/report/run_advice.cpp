#include "run_advice.h"

#include <cctype>

#include "../kernel/short_name.h"
#include "../trace/placeless.h"
#include "counted.h"

namespace gpushim::analysis {

namespace {

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

std::string why_unknown(const ReportSource& source) {
    const int64_t placeless = source.number("placeless_operations").value_or(0);
    if (placeless > 0) {
        return placeless_text(placeless);
    }
    Query windows = source.run.prepare("SELECT EXISTS (SELECT 1 FROM gpu WHERE timed_until_ns IS NOT NULL)");
    return windows.step() && windows.number(0) != 0 ? "none of the steps that count was timed"
                                                    : "nothing was timed";
}

}  // namespace

const Advice* RunAdvice::first() const {
    for (const Advice& one : advice)
        if (one.finding.kind == Kind::kGain) return &one;
    return nullptr;
}

const RunAdvice& advice_of(const ReportSource& source) {
    if (source.asked_rules == nullptr) {
        const ReportOptions& asked = source.options;
        const Situation run(source.run.raw(), counted_steps(source),
                            {asked.params, asked.samples_per_step, asked.bandwidth_bytes_per_s});
        RunAdvice said = {run.is_known(),    run.unlike() ? run.unlike()->text() : why_unknown(source),
                          run.is_per_step(), run.step_ns(),
                          run.per(),         advise(run)};
        if (asked.redact) redact(source, said.advice);
        source.asked_rules = std::make_shared<const RunAdvice>(std::move(said));
    }
    return *source.asked_rules;
}

}  // namespace gpushim::analysis
