#include "judge.h"

#include <algorithm>

#include "../compare/comparison_report.h"
#include "../report/facts.h"
#include "../text/units.h"
#include "trend.h"

namespace gpushim::analysis {

namespace {

// Nights since somebody said that this is how it is now; a change before that is no news.
std::vector<const Night*> comparable(const Night& night, std::span<const Night> before) {
    std::vector<const Night*> all;
    for (const Night& one : before) {
        if (one.place != night.place) continue;
        if (one.is_accepted) all.clear();
        all.push_back(&one);
    }
    return all;
}

std::vector<double> levels_of(const std::vector<const Night*>& nights, const Night& like, bool only_good,
                              size_t most) {
    std::vector<double> levels;
    for (const Night* one : nights)
        if (const auto level = level_of(*one, like); level && (!only_good || one->is_base))
            levels.push_back(*level);
    if (levels.size() > most) levels.erase(levels.begin(), levels.end() - static_cast<std::ptrdiff_t>(most));
    return levels;
}

std::optional<int64_t> first_bad_of(const Night& night, const std::vector<const Night*>& nights) {
    std::vector<double> levels;
    std::vector<int64_t> ids;
    for (const Night* one : nights)
        if (const auto level = level_of(*one, night)) levels.push_back(*level), ids.push_back(one->id);
    levels.push_back(*night.step_ns);
    ids.push_back(night.id);
    const auto at = rise_in(levels);
    return at ? ids[*at] : night.id;
}

void regressed(Night& night, std::string why, const std::vector<const Night*>& nights) {
    night.result = NightResult::kRegressed;
    night.why = std::move(why);
    night.first_bad = first_bad_of(night, nights);
    night.is_base = false;
}

std::string band_words(const Band& band, size_t nights) {
    return "the last " + count_text(static_cast<int64_t>(nights)) + " good nights' steps lie between " +
           duration_text(band.low) + " and " + duration_text(band.high);
}

void judge_trend(Night& night, const Comparison& is, const std::vector<const Night*>& nights,
                 const JudgeOptions& options) {
    std::vector<double> levels = levels_of(nights, night, true, options.nights);
    const auto band = band_of(levels, options.threshold);
    if (is.verdict == Verdict::kSlower) {
        if (!band || *night.step_ns > band->high) return regressed(night, verdict_words(is), nights);
        night.why = verdict_words(is) + "; but " + band_words(*band, levels.size());
    }
    levels.push_back(*night.step_ns);
    if (const auto creep = creep_of(levels); creep && *creep >= options.threshold)
        regressed(night,
                  "steps became longer from night to night, " + percent_text(*creep) + " in " +
                      count_text(static_cast<int64_t>(levels.size())) + " nights; " + verdict_words(is),
                  nights);
}

// Nights of a server have as many prompts as came: two of them differ by that, too, so a night is held to
// what several vary by. The 99th percentile of tokens varies too much to be held to anything.
void judge_tokens(Night& night, const std::vector<const Night*>& nights, const JudgeOptions& options) {
    struct Figure {
        const char* name;
        std::optional<int64_t> Night::*of;
    };
    for (const Figure& figure : {Figure{"median", &Night::token_p50_ns}, {"p95", &Night::token_p95_ns}}) {
        std::vector<double> levels;
        for (const Night* one : nights)
            if (one->is_base && one->*figure.of) levels.push_back(static_cast<double>(*(one->*figure.of)));
        if (levels.size() > options.nights)
            levels.erase(levels.begin(), levels.end() - static_cast<std::ptrdiff_t>(options.nights));
        const auto band = band_of(levels, options.threshold);
        if (!band || !(night.*figure.of)) continue;
        const auto ns = static_cast<double>(*(night.*figure.of));
        if (ns <= band->high) continue;
        night.result = NightResult::kRegressed;
        night.is_base = false;
        night.first_bad = night.id;
        night.why = "from one token to the next " + duration_text(ns) + " (" + figure.name + "); the last " +
                    count_text(static_cast<int64_t>(levels.size())) + " good nights' lie between " +
                    duration_text(band->low) + " and " + duration_text(band->high) + "; " + night.why;
        return;
    }
}

std::string nothing_to_compare(const Night& night, const Side& side, std::span<const Night> before,
                               const LoadSide& load) {
    if (before.empty()) return "the first night: nothing to compare it with yet";
    const Night& last = before.back();
    if (last.place == night.place) return "no good night before it to compare it with";
    std::string words;
    for (const Change& change : changes_of(load(last.id), side))
        if (change.what == "GPU" || change.what == "GPUs" || change.what == "driver" || change.what == "NCCL")
            words += (words.empty() ? "" : "; ") + change.words();
    return words + ": a new series of nights begins";
}

}  // namespace

std::string series_of(const Side& side, const std::vector<std::string>& tags) {
    std::string text;
    for (const std::string& tag : tags)
        if (const std::string value = side.value_of("tag", tag); !value.empty())
            text += (text.empty() ? "" : ", ") + tag + "=" + value;
    return text;
}

std::string place_of(const Side& side) {
    std::string text;
    for (const char* kind : {"GPU", "GPUs", "driver", "NCCL"})
        if (const std::string value = side.value_of(kind); !value.empty())
            text += (text.empty() ? "" : ", ") + std::string(kind) + " " + value;
    return text;
}

std::optional<double> level_of(const Night& night, const Night& like) {
    if (!night.step_ns) return {};
    if (!night.samples_per_step || !like.samples_per_step || *night.samples_per_step <= 0)
        return night.step_ns;
    return *night.step_ns * *like.samples_per_step / *night.samples_per_step;
}

const Night* base_for(const Night& night, std::span<const Night> before) {
    const Night* base = nullptr;
    for (const Night* one : comparable(night, before))
        if (one->is_base) base = one;
    return base;
}

void judge(Night& night, const Side& side, std::span<const Night> before, const LoadSide& load,
           const JudgeOptions& options) {
    night.result = NightResult::kInconclusive;
    if (side.serving) {
        night.token_p50_ns = side.serving->token_p50_ns;
        night.token_p95_ns = side.serving->token_p95_ns;
    }
    night.mfu = side.mfu;
    night.product_mfu = side.product_mfu;
    night.joules_per_step = side.joules_per_step;
    if (side.has_steps()) night.step_ns = median_of(side.typical().lengths_ns);
    if (const auto why = unusable(side)) {
        night.why = *why;
        return;
    }
    night.is_base = true;
    const auto few = too_few_steps(side);
    const Night* const base = base_for(night, before);
    if (base == nullptr) {
        night.why = nothing_to_compare(night, side, before, load) + (few ? "; " + *few : "");
        return;
    }
    night.base = base->id;
    const Side base_side = load(base->id);
    const Comparison is = compare(base_side, side, options.threshold);
    night.why = verdict_words(is);
    if (const PartShift* cause = is.cause(); cause && is.verdict == Verdict::kSlower)
        night.cause = cause->name;
    if (is.verdict == Verdict::kInconclusive) {
        // A night with enough steps is a better base than one without.
        night.is_base = !few && too_few_steps(base_side).has_value();
        return;
    }
    night.result = NightResult::kOk;
    judge_trend(night, is, comparable(night, before), options);
    if (night.result == NightResult::kOk) judge_tokens(night, comparable(night, before), options);
}

}  // namespace gpushim::analysis
