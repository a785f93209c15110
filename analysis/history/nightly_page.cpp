#include "nightly_page.h"

#include <algorithm>

#include "../chart/line_chart.h"
#include "../chart/page.h"
#include "../chart/stacked_bars.h"
#include "../chart/table.h"
#include "../compare/comparison_report.h"
#include "../report/printed.h"
#include "../text/escape.h"
#include "../text/units.h"
#include "../to_int64.h"
#include "judge.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kMostNightsDrawn = 120;

const char* tone_of(ExitCode outcome) {
    return outcome == kFine ? "good" : outcome == kSlower ? "bad" : "warn";
}

std::string shortened_text(const std::string& text) { return shortened(for_terminal(text), kLongestText); }

std::string day_of(const Night& night) { return time_text(night.started_real_ns).substr(0, 10); }

Card verdict_card(const Tonight& one) {
    return {one.name(), one.is_late ? "missing" : name_of(one.night.result), label_of(one.night),
            tone_of(one.outcome())};
}

std::vector<Card> cards_of(const Tonight& one) {
    std::vector<Card> all = {verdict_card(one)};
    if (!one.night.step_ns) return all;
    all.push_back({"step", duration_text(*one.night.step_ns), "median of the typical step"});
    if (one.night.samples_per_step)
        all.push_back({"rate", count_text(to_int64(*one.night.samples_per_step * 1e9 / *one.night.step_ns)),
                       "samples per second, by that median"});
    if (const Night* first = night_of(one.nights, one.night.first_bad))
        all.push_back({"first bad night", day_of(*first), first->name, "bad"});
    return all;
}

std::vector<Night> drawn_of(const Tonight& one) {
    const size_t skipped = one.nights.size() - std::min(one.nights.size(), kMostNightsDrawn);
    return {one.nights.begin() + static_cast<std::ptrdiff_t>(skipped), one.nights.end()};
}

// Steps of all nights, those that are not good marked; a place of its own is a line of its own.
LineChart trend_chart(const std::string& id, const Tonight& one, const std::vector<Night>& nights) {
    LineChart chart;
    chart.words = {id + "-trend", "Step over nights",
                   one.name() + ": the median step of the last " +
                       count_text(static_cast<int64_t>(nights.size())) + " nights"};
    chart.x = {"night", [nights](double at) {
                   const auto i = static_cast<size_t>(to_int64(at));
                   return i >= 1 && i <= nights.size() ? day_of(nights[i - 1]).substr(5) : std::string();
               }};
    chart.y = {"median step", duration_text};  // not from 0: a few per cent are to be seen
    for (size_t i = 0; i < nights.size(); ++i) {
        const Night& night = nights[i];
        if (chart.series.empty() || nights[i - 1].place != night.place)
            chart.series.push_back({night.place, chart.series.size() % kColours, {}});
        const auto x = static_cast<double>(i + 1);
        const auto level = level_of(night, one.night);
        LinePoint point{x, level.value_or(kUnknown)};
        point.hint = label_of(night) + ": " + name_of(night.result) +
                     (level ? ", " + duration_text(*level) : std::string(", no steps"));
        point.is_marked = night.result == NightResult::kRegressed;
        chart.series.back().points.push_back(std::move(point));
        if (night.id == one.night.first_bad) chart.rules.push_back({x, "first bad night"});
        if (night.is_accepted) chart.rules.push_back({x, "accepted"});
    }
    return chart;
}

Markup nights_table(const Tonight& one, const std::vector<Night>& nights) {
    PageTable all{
        "nights of " + one.name(), "lllrll", {"night", "run", "result", "step", "cause", "said"}, {}};
    for (auto night = nights.rbegin(); night != nights.rend(); ++night)
        all.rows.push_back(
            {TableCell(time_text(night->started_real_ns), static_cast<double>(night->started_real_ns)),
             night->name, name_of(night->result),
             night->step_ns ? TableCell(duration_text(*night->step_ns), *night->step_ns)
                            : TableCell("not recorded"),
             night->cause, shortened_text(night->why)});
    if (nights.size() < one.nights.size()) all.rest = "the newest of " + std::to_string(one.nights.size());
    return table(all);
}

// Both nights' steps beside each other, in the parts whose shift is largest.
StackedBars parts_chart(const std::string& id, const Tonight& one, const Comparison& is) {
    StackedBars chart;
    chart.words = {id + "-parts", "What a step is made of", verdict_words(is)};
    chart.x = {"of a step", duration_text, false, true};
    const Night* base = night_of(one.nights, one.night.base);
    StackedBars::Bar before{day_of(*base) + " (before)", {}}, after{day_of(one.night), {}};
    for (const PartShift& part : is.parts) {
        if (part.base_ns <= 0 && part.new_ns <= 0) continue;
        chart.parts.push_back({part.name, chart.parts.size() % kColours});
        before.values.push_back(std::max(0.0, part.base_ns));
        after.values.push_back(std::max(0.0, part.new_ns));
    }
    chart.bars = {before, after};
    return chart;
}

Markup cells_of(const Table& from) {
    PageTable all{"details", from.alignment, from.rows.front(), {}, rest_of(from)};
    for (size_t i = 1; i < from.rows.size(); ++i)
        all.rows.emplace_back(from.rows[i].begin(), from.rows[i].end());
    return table(all);
}

// The report's own words and tables.
Markup told(const Report& report) {
    Markup all;
    for (const auto& block : report.blocks) {
        if (const Line* line = std::get_if<Line>(&block))
            all += paragraph(shortened_text(line->text));
        else
            all += cells_of(std::get<Table>(block));
    }
    return all;
}

// What differs from the night it was compared with, before anything is made of it.
std::string changes_text(const Comparison& is) {
    std::string text;
    for (const Change& change : is.changes) text += (text.empty() ? "Changed: " : "; ") + change.words();
    return text.empty() ? "Nothing that is known about where they ran has changed." : text;
}

Markup parts_of(const std::string& id, const Tonight& one, const Comparison& is) {
    if (is.parts.empty()) return missing(is.why_no_parts.empty() ? is.why : is.why_no_parts);
    const StackedBars parts = parts_chart(id, one, is);
    return figure(parts.words, stacked_bars(parts));
}

PageSection section_of(const History& history, const Tonight& one, size_t number,
                       const NightlyOptions& options) {
    const std::string id = "series-" + std::to_string(number);
    const std::vector<Night> nights = drawn_of(one);
    const LineChart trend = trend_chart(id, one, nights);
    const Markup row =
        figure(trend.words, line_chart(trend), folded("as a table", nights_table(one, nights)));
    Markup body = paragraph(shortened_text(one.night.place));
    if (!one.night.base) {
        body += cards(cards_of(one));
        body += paragraph(shortened_text(one.words()));
        body += row;
        return {id, one.name(), std::move(body)};
    }
    const Side base = history.side(*one.night.base), now = history.side(one.night.id);
    const Comparison is = compare(base, now, options.threshold);
    Report report;
    write_comparison(base, now, is, report);
    body += paragraph(shortened_text(changes_text(is)));
    body += cards(cards_of(one));
    body += paragraph(shortened_text(one.words()));
    body += row;
    body += parts_of(id, one, is);
    body += folded("against the last good night", told(report));
    return {id, one.name(), std::move(body)};
}

}  // namespace

std::string nightly_page(const History& history, const std::vector<Tonight>& all,
                         const NightlyOptions& options) {
    Page page;
    const ExitCode outcome = outcome_of(all, options);
    page.title = std::string("Nightly: ") + result_word(outcome);
    std::vector<Card> verdicts;
    for (const Tonight& one : all) verdicts.push_back(verdict_card(one));
    const auto is_simulated = [](const Tonight& one) {
        return one.night.place.find("GPU Simulated ") != std::string::npos;
    };
    if (std::any_of(all.begin(), all.end(), is_simulated)) page.lead += simulated_banner();
    for (const std::string& note : options.notes) page.lead += banner(note);
    if (all.empty()) page.lead += paragraph("No night yet.");
    if (all.size() > 1) page.lead += cards(verdicts);
    for (size_t i = 0; i < all.size(); ++i)
        page.sections.push_back(section_of(history, all[i], i + 1, options));
    return page_text(page);
}

}  // namespace gpushim::analysis
