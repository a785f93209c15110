// The report's first lines: what kind of job this is and what would change it most; what a step is made of;
// and how good the evidence is.
#include <algorithm>
#include <cmath>

#include "../advice/unlike_sample.h"
#include "../idle/cause.h"
#include "../text/units.h"
#include "../to_int64.h"
#include "contradictions.h"
#include "evidence.h"
#include "facts.h"
#include "gpu_figures.h"
#include "hang.h"
#include "hang_text.h"
#include "run_advice.h"
#include "section.h"
#include "serving_figures.h"
#include "step_figures.h"
#include "trust_figures.h"

namespace gpushim::analysis::section_verdict {

namespace {

// Of a step. A first finding that is worth less is no verdict: the job computes, or why it does not is not
// known.
constexpr double kHighly = 0.20, kModerately = 0.05;
constexpr double kComputes = 0.50;     // productive from here on …
constexpr double kWorthBeside = 0.10;  // … and this is said with it

constexpr size_t kIndent = 9;

std::string in_words(const std::string& cause) { return " (" + std::string(said_of(cause)) + ")"; }

struct Verdict {
    std::string word, text;                                       // "input-bound", and the sentence behind it
    std::optional<std::string> level = {}, finding = {};          // "highly", and the id
    std::optional<double> share_low = {}, share_high = {};        // of a step, what the finding would save
    std::optional<double> after_low_ns = {}, after_high_ns = {};  // what would be left of a mean step
};

// What costs are of: the mean of the timed steps, without our events, or of all. Where that is not the median
// above it, the reader has to know.
std::string step_text(const RunAdvice& run, const ShownSteps& steps) {
    const auto is_near = [&](std::optional<int64_t> other_ns, double near) {
        return other_ns && std::abs(static_cast<double>(*other_ns) / run.step_ns - 1) <= near;
    };
    const std::string text = duration_text(run.step_ns);
    if (is_near(steps.median_ns, 0.01)) return text;
    const bool are_events =
        steps.undisturbed_ns && steps.median_ns && *steps.undisturbed_ns < *steps.median_ns;
    if (are_events && is_near(steps.undisturbed_ns, 0.02)) return text + " without our events";
    return text + " on average";
}

// "73 % of each step the GPU waits for data (3.00 ms of 4.11 ms)"; what is in some steps only is in no
// "each".
std::string cost_text(const RunAdvice& run, const Advice& first, const ShownSteps& steps) {
    const Finding& finding = first.finding;
    const auto& [low_ns, high_ns] = finding.gain;
    const std::string lead = finding.lead.empty() ? first.heading().lead : finding.lead;
    return shares_text(run.share_of_step(low_ns), run.share_of_step(high_ns)) +
           (run.is_per_step && !finding.in_some_steps ? " of each step " : " of the time ") + lead +
           (run.is_per_step ? " (" + times_text(low_ns, high_ns) + " of " + step_text(run, steps) + ")"
                            : "") +
           (finding.where.empty() ? "" : ", " + finding.where);
}

// "loading ahead → about 1.11 ms a step (3.7x)"
std::string change_text(const RunAdvice& run, const Verdict& verdict, const Advice& first) {
    constexpr double kNextToAll = 0.99;  // what stays is as small as what is not known of it
    const auto times = [](double share) {
        return share > kNextToAll ? "100" : figure_text("%.1f", 1 / (1 - share));
    };
    const std::string least = times(*verdict.share_low), most = times(*verdict.share_high);
    const bool is_next_to_all = *verdict.share_high > kNextToAll;
    const std::string rate =
        is_next_to_all ? "over " + least + "x" : (least == most ? "" : least + "–") + most + "x";
    const std::string change = first.finding.change + " → ";
    if (!run.is_per_step) return change + (is_next_to_all ? "" : "about ") + rate;
    return change + "about " + times_text(*verdict.after_low_ns, *verdict.after_high_ns) + " a step (" +
           rate + ")";
}

double mean_share(const RunAdvice& run, const Gain& gain) {
    return run.share_of_step((gain.low_ns + gain.high_ns) / 2);
}

const char* level_of(double share) { return share >= kHighly ? "highly" : "moderately"; }

// What most of the time is, where that is a note about how the GPU computes: what it would save is not known.
const Advice* note_on_computing(const RunAdvice& run) {
    const auto found = std::find_if(run.advice.begin(), run.advice.end(), [](const Advice& one) {
        return one.finding.kind == Kind::kNote && std::string_view(one.rule->id) == "small_grids";
    });
    return found == run.advice.end() ? nullptr : &*found;
}

Verdict of_note(const RunAdvice& run, const Advice& note, double productive) {
    Verdict verdict;
    verdict.word = "compute-bound";
    verdict.finding = note.rule->id;
    verdict.text = shares_text(productive, productive) +
                   (run.is_per_step ? " of each step " : " of the time ") + note.heading().lead + "; " +
                   note.heading().change;
    return verdict;
}

Verdict of_finding(const RunAdvice& run, const Advice& first, const ShownSteps& steps) {
    Verdict verdict;
    const Gain& gain = first.finding.gain;
    verdict.word = first.heading().verdict;
    verdict.finding = first.rule->id;
    verdict.share_low = run.share_of_step(gain.low_ns);
    verdict.share_high = run.share_of_step(gain.high_ns);
    verdict.level = level_of(mean_share(run, gain));
    if (run.is_per_step) {
        verdict.after_low_ns = run.step_ns - gain.high_ns;
        verdict.after_high_ns = run.step_ns - gain.low_ns;
    }
    verdict.text = cost_text(run, first, steps) + "; " + change_text(run, verdict, first);
    return verdict;
}

// ", most of it sync"
std::string largest_cause(const std::vector<GpuFigures>& gpus, const ServingFigures& serving) {
    if (!serving.idle.empty())
        return ", the largest cause is " + serving.words_of(serving.idle.front().first);
    std::map<std::string, int64_t> sums;
    for (const GpuFigures& gpu : gpus)
        for (const auto& [cause, ns] : gpu.idle_by_cause) sums[cause] += ns;
    const auto most = std::max_element(sums.begin(), sums.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == sums.end() || most->second <= 0
               ? ""
               : ", the largest cause is " + most->first + in_words(most->first);
}

// Nothing that rules know is worth much: what most of the time is.
Verdict of_shares(const RunAdvice& run, const std::optional<MeanShares>& shares,
                  const std::vector<GpuFigures>& gpus, const ServingFigures& serving, bool is_part) {
    const std::string nothing = is_part ? "; what to change first is said of the whole run"
                                        : "; no change that gpushim knows of is worth 5 % of it";
    const std::string of_each = run.is_per_step ? " of each step " : " of the time ";
    if (!shares) return {"not known", "what the GPU did is not recorded"};
    const auto text_of = [&](double share, const std::string& what) {
        return shares_text(share, share) + of_each + what + nothing;
    };
    if (const double share = unexplained_share(gpus); share >= kMuchUnexplained)
        return {"not known", text_of(share,
                                     "work was queued and nothing that was recorded ran: the trace does "
                                     "not say what held the GPU (earlier work, another program)")};
    struct Part {
        const char *word, *beside, *what;  // beside: "computes, in 27 % the GPU is idle"
        double share;
    };
    const Part parts[] = {{"idle", "in ", "the GPU is idle", shares->idle},
                          {"waiting", "in ", "GPUs wait for each other", shares->waiting},
                          {"communication-bound", "", "is communication that nothing hides", shares->exposed},
                          {"memory-bound", "", "is copies and memory that nothing hides", shares->memory}};
    const Part* most = &parts[0];
    for (const Part& part : parts)
        if (part.share > most->share) most = &part;
    const std::string beside =
        most->share < kWorthBeside
            ? ""
            : std::string(", ") + most->beside + shares_text(most->share, most->share) + " " + most->what;
    if (shares->productive >= kComputes)
        return {"compute-bound", text_of(shares->productive, "computes" + beside)};
    const std::string cause = most == &parts[0] ? largest_cause(gpus, serving) : "";
    return {most->word, text_of(most->share, most->what + cause)};
}

// Of most operations in windows it is not known when they ran: what looks idle may be their time.
Verdict of_few_times(const std::string& few) {
    return {"not known", few +
                             " have device times, so what looks idle may be the time of the others; what is "
                             "said below is of those few"};
}

Verdict verdict_of(const ReportSource& source, bool contradictory, const std::vector<GpuFigures>& gpus,
                   const std::optional<MeanShares>& shares, const ShownSteps& steps,
                   const ServingFigures& serving) {
    if (contradictory) return {"none", "figures of this run contradict each other (WRONG, below)"};
    if (const auto hang = hang_of(source))
        return {"hung", hang_lines(*hang).front() + "; who waits for whom is below"};
    const RunAdvice& run = advice_of(source);
    if (!run.is_known) return {"not known", run.why_unknown};
    if (const auto few = too_few_with_times(source)) return of_few_times(*few);
    // Rules know the run as a whole: of a part of it, only what its time was.
    const bool is_part = source.is_part_of_run();
    const Advice* const first = is_part ? nullptr : run.first();
    const double first_share = first == nullptr ? 0 : mean_share(run, first->finding.gain);
    const Advice* const note = is_part ? nullptr : note_on_computing(run);
    if (note != nullptr && first_share < kHighly && shares && shares->productive >= kComputes)
        return of_note(run, *note, shares->productive);
    if (first_share >= kModerately) return of_finding(run, *first, steps);
    return of_shares(run, shares, gpus, serving, is_part);
}

std::string share_text(double share) {
    if (share == 0) return "0";
    return share < 0.0005 ? "below 0.1 %" : figure_text("%.1f %%", 100 * share);
}

// Of what serves, how its tokens come.
std::string pace_text(const ServingFigures& serving, const ShownSteps& steps) {
    const std::string rate = rate_text_of(serving.per_second()) + " iterations/s";
    if (serving.tokens.p50_ns)
        return duration_text(static_cast<double>(*serving.tokens.p50_ns)) + " from token to token (p99 " +
               duration_text(static_cast<double>(*serving.tokens.p99_ns)) + ") · " + rate;
    return (steps.median_ns ? duration_text(static_cast<double>(*steps.median_ns)) + " · " : "") + rate;
}

void write_step(const ShownSteps& steps, const ServingFigures& serving,
                const std::optional<MeanShares>& shares, bool hung, const std::optional<UnlikeSample>& unlike,
                Report& report) {
    std::string text = "STEP     ";
    if (serving.has_iterations() && !hung) {
        text += pace_text(serving, steps);
    } else if (steps.median_ns) {
        const std::string mean = duration_text(static_cast<double>(*steps.mean_ns));
        text += steps.host_ahead ? mean + " on average" + (steps.ahead_work_ns ? ", or more" : "")
                                 : duration_text(static_cast<double>(*steps.median_ns)) +
                                       (steps.is_uneven() ? " (mean " + mean + ")" : "");
        if (!hung) text += " · " + steps.rates_text("/s", " · ");
    } else {
        text += unlike ? "none found; of " + percent_text(unlike->timed_share) +
                             " of the run, which is not like the rest"
                       : "none found, of " + steps.span_text();
    }
    if (!shares) return report.line(text + " · what the GPU did in it is not recorded");
    text += " · compute " + share_text(shares->productive);
    text += shares->knows_waits() ? " · waiting for peers " + share_text(shares->waiting) +
                                        " · exposed communication " + share_text(shares->exposed)
                                  : " · exposed communication, waits included, " +
                                        share_text(shares->waiting + shares->exposed);
    report.paragraph(text + " · memory " + share_text(shares->memory) + " · idle " + share_text(shares->idle),
                     kIndent);
}

void write_trust(const TrustGrade& trust, Report& report) {
    report.paragraph(
        "TRUST    " + std::string(word_of(trust.grade)) + (trust.basis.empty() ? "" : ": " + trust.basis),
        kIndent);
    std::string wrong = trust.is_simulated ? "SIMULATED: these are not GPU times" : "";
    for (const std::string& one : trust.wrongs) wrong += (wrong.empty() ? "" : "; ") + one;
    if (!wrong.empty()) report.paragraph("EVIDENCE " + wrong, kIndent);
    report.has_trouble |= !trust.wrongs.empty();
}

Json json_of(const Verdict& verdict, const TrustGrade& trust, bool is_part) {
    const char* const none = is_part                       ? "findings are of the whole run"
                             : verdict.word == "not known" ? "too little is known for a verdict"
                             : verdict.finding             ? "what it would save is not known"
                                                           : "no finding is worth 5 % of a step";
    const auto ns = [](std::optional<double> value) {
        return value ? std::optional(to_int64(*value)) : std::nullopt;
    };
    Json wrongs = Json::array();
    for (const std::string& one : trust.wrongs) wrongs.push(Json(one));
    return Facts()
        .known("word", verdict.word)
        .known("text", verdict.text)
        .maybe("level", verdict.level, none)
        .maybe("finding", verdict.finding, none)
        .maybe("share_low", verdict.share_low, none)
        .maybe("share_high", verdict.share_high, none)
        .maybe("after_low_ns", ns(verdict.after_low_ns), verdict.level ? "no steps were found" : none)
        .maybe("after_high_ns", ns(verdict.after_high_ns), verdict.level ? "no steps were found" : none)
        .known("trust", word_of(trust.grade))
        .known("evidence", std::move(wrongs))
        .json();
}

// " (steps 31 to 40)"
std::string asked_words(const ShownSteps& steps) {
    if (!steps.first || !steps.last) return " (none of the steps that were asked for)";
    return " (steps " + std::to_string(*steps.first) + " to " + std::to_string(*steps.last) + ")";
}

void write(const ReportSource& source, Report& report) {
    const std::vector<Contradiction>& contradictions = contradictions_of(source);
    const bool contradictory = std::any_of(contradictions.begin(), contradictions.end(),
                                           [](const Contradiction& one) { return !one.sections.empty(); });
    const ShownSteps& steps = step_figures(source);
    const ServingFigures& serving = serving_figures(source);
    const std::vector<GpuFigures>& gpus = gpu_figures(source);
    const auto shares = mean_shares(gpus);
    const Verdict verdict = verdict_of(source, contradictory, gpus, shares, steps, serving);
    const TrustGrade trust = evidence_of(source);
    const std::string level = verdict.level ? " (" + *verdict.level + ")" : "";
    report.has_trouble |= contradictory || verdict.word == "hung";
    report.is_of_steps = source.is_part_of_run() && verdict.word != "hung" && verdict.word != "none";
    const std::string of = report.is_of_steps        ? asked_words(steps)
                           : source.is_part_of_run() ? " (whole run)"
                                                     : "";
    report.paragraph("VERDICT  " + verdict.word + level + ": " + verdict.text + of, kIndent);
    if (contradictory)
        report.line("STEP     contradictory: not shown");
    else
        write_step(steps, serving, shares, verdict.word == "hung", unlike_sample(source.run.raw()), report);
    write_trust(trust, report);
    report.json.set("verdict", json_of(verdict, trust, source.is_part_of_run()));
}

constexpr Section kSection = {"verdict", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_verdict
