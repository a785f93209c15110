#include "nightly_report.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "../compare/comparison_report.h"
#include "../report/facts.h"
#include "../report/printed.h"
#include "../text/junit.h"
#include "../text/units.h"
#include "../to_int64.h"
#include "judge.h"

namespace gpushim::analysis {

namespace {

std::string step_text(const Night& night) { return night.step_ns ? duration_text(*night.step_ns) : "-"; }

std::string token_text(const std::optional<int64_t>& ns) {
    return ns ? duration_text(static_cast<double>(*ns)) : "-";
}

std::string rate_text_of(const Night& night) {
    if (!night.step_ns || !night.samples_per_step) return "-";
    return count_text(to_int64(*night.samples_per_step * 1e9 / *night.step_ns));
}

// A column that only nights have of which it is known.
struct UseColumn {
    std::string heading;
    std::optional<double> Night::*of;
    std::string (*text)(double);
};

std::string joules_text(double joules) { return figure_text("%.3g J", joules); }

// MFU by what a sample takes, or, where no night has that, by recorded products.
std::vector<UseColumn> use_columns(const std::vector<Night>& nights) {
    std::vector<UseColumn> columns;
    const auto add = [&](const char* heading, std::optional<double> Night::*of, std::string (*text)(double)) {
        const bool is_any = std::any_of(nights.begin(), nights.end(),
                                        [&](const Night& night) { return (night.*of).has_value(); });
        if (is_any) columns.push_back({heading, of, text});
        return is_any;
    };
    if (!add("MFU", &Night::mfu, percent_text)) add("MFU of products", &Night::product_mfu, percent_text);
    add("energy/step", &Night::joules_per_step, joules_text);
    return columns;
}

// Against the first of those shown, at as many samples.
std::string change_text(const Night& night, const Night& first) {
    const bool is_same_place = night.place == first.place;
    const auto level = level_of(night, first);
    if (!is_same_place || !level || !first.step_ns) return "-";
    char text[32];
    std::snprintf(text, sizeof text, "%+.1f %%", 100 * (*level / *first.step_ns - 1) + 0.0);
    return text;
}

std::vector<Night> shown(const Tonight& one, const NightlyOptions& options) {
    const size_t skipped = one.nights.size() - std::min(one.nights.size(), options.nights);
    return {one.nights.begin() + static_cast<std::ptrdiff_t>(skipped), one.nights.end()};
}

void write_nights(const Tonight& one, const NightlyOptions& options, Report& report) {
    std::vector<std::vector<std::string>> rows = {
        {"night", "run", "result", "step", "samples/s", "against first", "cause"}};
    const std::vector<Night> nights = shown(one, options);
    const bool serves = std::any_of(nights.begin(), nights.end(),
                                    [](const Night& night) { return night.token_p50_ns.has_value(); });
    if (serves) rows[0].insert(rows[0].begin() + 4, {"token", "token p95"});
    const std::vector<UseColumn> uses = use_columns(nights);
    for (const UseColumn& use : uses) rows[0].insert(rows[0].end() - 2, use.heading);
    std::string place = nights.front().place;
    for (const Night& night : nights) {
        std::string result = name_of(night.result);
        if (night.id == one.night.first_bad) result += ", first bad";
        if (night.is_accepted) result += ", accepted";
        if (night.place != place) result += ", new place";
        place = night.place;
        rows.push_back({time_text(night.started_real_ns), night.name, result, step_text(night),
                        rate_text_of(night), change_text(night, nights.front()), night.cause});
        if (serves)
            rows.back().insert(rows.back().begin() + 4,
                               {token_text(night.token_p50_ns), token_text(night.token_p95_ns)});
        for (const UseColumn& use : uses)
            rows.back().insert(rows.back().end() - 2, night.*use.of ? use.text(*(night.*use.of)) : "-");
    }
    report.line("NIGHTS        the last " + count_text(static_cast<int64_t>(nights.size())) + " of " +
                count_text(static_cast<int64_t>(one.nights.size())));
    const std::string sides = "lll" + std::string(rows[0].size() - 4, 'r') + "l";
    report.table(sides.c_str(), std::move(rows), options.nights);
}

Json night_json(const Night& night) {
    return Facts()
        .known("night", night.id)
        .known("run", night.name)
        .known("started_real_ns", night.started_real_ns)
        .known("series", night.series)
        .known("place", night.place)
        .known("result", name_of(night.result))
        .known("said", night.why)
        .known("cause", night.cause)
        .known("accepted", night.is_accepted)
        .maybe("base", night.base, "nothing to compare it with")
        .maybe("first_bad", night.first_bad, "it is not regressed")
        .maybe("step_ns", to_int64(night.step_ns), "no steps")
        .maybe("token_p50_ns", night.token_p50_ns, "not known to serve")
        .maybe("token_p95_ns", night.token_p95_ns, "not known to serve")
        .maybe("mfu", night.mfu, "the operations of a sample, or the GPU's peak, are not known")
        .maybe("product_mfu", night.product_mfu,
               "recorded products cover less than 90 % of matrix time, or the GPU's peak is not known")
        .maybe("joules_per_step", night.joules_per_step, "NVML told too little")
        .json();
}

Comparison compare_again(const History& history, const Tonight& one, const NightlyOptions& options,
                         Side& base, Side& now) {
    base = history.side(*one.night.base);
    now = history.side(one.night.id);
    return compare(base, now, options.threshold);
}

void write_one(const History& history, const Tonight& one, const NightlyOptions& options, Report& report,
               Json& list) {
    std::string result = name_of(one.night.result);
    std::transform(result.begin(), result.end(), result.begin(), [](char c) { return c - 'a' + 'A'; });
    report.line("NIGHT         " + label_of(one.night) +
                (one.night.series.empty() ? "" : "   " + one.night.series) + "   " + one.night.place);
    report.paragraph(result + std::string(14 - std::min<size_t>(13, result.size()), ' ') + one.words(), 14);
    Json nights = Json::array(), comparison;
    for (const Night& night : shown(one, options)) nights.push(night_json(night));
    if (const Night* base = night_of(one.nights, one.night.base)) {
        Side before, now;
        const Comparison is = compare_again(history, one, options, before, now);
        report.line("AGAINST       the last good night, " + label_of(*base));
        Report compared;
        write_comparison(before, now, is, compared);
        for (auto& block : compared.blocks) report.blocks.push_back(std::move(block));
        comparison = std::move(compared.json);
    }
    write_nights(one, options, report);
    Facts facts;
    facts.known("series", one.night.series)
        .known("night", night_json(one.night))
        .known("missed", one.is_late)
        .known("nights", std::move(nights));
    if (one.night.base)
        facts.known("comparison", std::move(comparison));
    else
        facts.maybe("comparison", std::optional<bool>(), one.night.why);
    list.push(facts.json());
}

}  // namespace

std::string label_of(const Night& night) { return time_text(night.started_real_ns) + " " + night.name; }

const Night* night_of(const std::vector<Night>& nights, std::optional<int64_t> id) {
    for (const Night& night : nights)
        if (night.id == id) return &night;
    return nullptr;
}

const char* result_word(ExitCode outcome) {
    return name_of(outcome == kFine     ? NightResult::kOk
                   : outcome == kSlower ? NightResult::kRegressed
                                        : NightResult::kInconclusive);
}

ExitCode Tonight::outcome() const { return is_late ? kIncomplete : exit_code_of(night.result); }

std::string Tonight::name() const { return night.series.empty() ? "nightly run" : night.series; }

std::string Tonight::words() const {
    std::string text = is_late ? "no run since then: last night is missing; it was: " : "";
    text += night.why;
    if (const Night* first = night_of(nights, night.first_bad))
        text += "; first bad night: " + label_of(*first);
    return text;
}

std::vector<Tonight> tonight(const History& history, const NightlyOptions& options) {
    std::map<std::string, Tonight> by_series;
    for (Night& night : history.nights()) {
        Tonight& one = by_series[night.series];
        one.night = night;
        one.nights.push_back(std::move(night));
    }
    std::vector<Tonight> all;
    for (auto& [series, one] : by_series) {
        const bool is_over = options.forgotten_ns && one.night.started_real_ns < *options.forgotten_ns;
        if (is_over && by_series.size() > 1) continue;
        one.is_late = options.oldest_ns && one.night.started_real_ns < *options.oldest_ns;
        all.push_back(std::move(one));
    }
    return all;
}

ExitCode outcome_of(const std::vector<Tonight>& all, const NightlyOptions& options) {
    ExitCode worst = all.empty() || !options.notes.empty() ? kIncomplete : kFine;
    for (const Tonight& one : all) {
        if (one.outcome() == kSlower) return kSlower;
        if (one.outcome() == kIncomplete) worst = kIncomplete;
    }
    return worst;
}

void write_nightly(const History& history, const std::vector<Tonight>& all, const NightlyOptions& options,
                   Report& report) {
    Json notes = Json::array(), list = Json::array();
    for (const std::string& note : options.notes) {
        report.line("NOTE          " + note);
        notes.push(note);
    }
    if (all.empty()) report.line("NIGHT         none yet");
    for (const Tonight& one : all) write_one(history, one, options, report, list);
    report.json = Json::object({{"schema", 1},
                                {"result", result_word(outcome_of(all, options))},
                                {"judged_now", options.judged_now},
                                {"notes", std::move(notes)},
                                {"series", std::move(list)}});
}

std::string nightly_junit(const History& history, const std::vector<Tonight>& all,
                          const NightlyOptions& options) {
    std::vector<JunitCase> cases;
    for (const std::string& note : options.notes) cases.push_back({"tonight", kIncomplete, note, note});
    for (const Tonight& one : all) {
        Report report;
        Json ignored = Json::array();
        write_one(history, one, options, report, ignored);
        std::string text;
        for (const std::string& line : as_text(report)) text += line + "\n";
        cases.push_back({one.name(), one.outcome(), one.words(), text});
    }
    return junit_text("gpushim nightly", cases);
}

}  // namespace gpushim::analysis
