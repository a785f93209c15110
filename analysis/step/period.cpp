#include "period.h"

#include <algorithm>
#include <cstdio>
#include <map>

namespace gpushim::analysis {

namespace {

constexpr double kConfidence = 0.80;  // less is a guess
constexpr double kMostOfRun = 0.50;   // of all launches must lie in what is explained
constexpr size_t kTrials = 16;

struct Counted {
    Candidates candidates;
    std::map<int32_t, int64_t> lanes;
    int64_t launches = 0;
    std::optional<int32_t> lead_lane() const {
        const auto most = std::max_element(lanes.begin(), lanes.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        return lanes.size() < 2 ? std::nullopt : std::optional(most->first);
    }
};

Counted count(const TokenSource& source) {
    Counted counted;
    Keys keys;
    source([&](const Token& token) {
        counted.candidates.add(token, keys.of(token));
        if (token.kind == TokenKind::sync) return;
        ++counted.launches;
        if (token.kind != TokenKind::copy_h2d) ++counted.lanes[token.lane];
    });
    return counted;
}

std::vector<Trial> try_all(const TokenSource& source, const Counted& counted) {
    const std::optional<int32_t> lead = counted.lead_lane();
    std::vector<Trial> trials;
    for (const Candidate& anchor : counted.candidates.best(kTrials)) {
        trials.emplace_back(anchor, false);
        if (lead) trials.emplace_back(anchor, true);
    }
    Keys keys;
    Tally all, of_lead;
    source([&](const Token& token) {
        const KeySet set = keys.of(token);
        for (Trial& trial : trials)
            if (set.key[static_cast<size_t>(trial.anchor().kind)] == trial.anchor().key)
                trial.begin_piece(trial.is_lead_lane() ? of_lead : all);
        all.add(token, std::nullopt);
        if (lead) of_lead.add(token, lead);
    });
    return trials;
}

std::string figure(double value, const char* format) {
    char text[32];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

Period refused(std::string why) {
    Period period;
    period.why = std::move(why);
    return period;
}

std::string why_none(const std::vector<Trial>& trials) {
    const Trial* best = nullptr;
    double most = 0;
    for (const Trial& trial : trials) {
        const double explained = trial.explained_share(trial.best_lag());
        if (is_single_launch(trial) || (best != nullptr && explained <= most)) continue;
        best = &trial;
        most = explained;
    }
    if (trials.empty()) return "no operation repeats often enough to be a period";
    if (best == nullptr) return "one operation repeats: no copy or sync shows where a step begins";
    const std::string period = "from " + in_words(best->anchor()) + " to the next";
    if (most >= Trial::kExplained)
        return "several different stretches repeat, " + period +
               ": no optimizer kernel or collective shows whether they are one step";
    return "the best period, " + period + ", explains " + figure(100 * most, "%.0f") +
           " % of the launches; 90 % are needed";
}

int64_t launches_read(bool is_lead, const Counted& counted) {
    return std::max<int64_t>(1, is_lead ? counted.lanes.at(*counted.lead_lane()) : counted.launches);
}

// What repeats in a part of the run alone, as a model's weights do that go to the device layer by layer,
// hides nothing that repeats in most of it.
std::vector<Trial> of_run(std::vector<Trial> trials, const Counted& counted) {
    const auto is_of_part = [&](const Trial& trial) {
        return static_cast<double>(trial.covered_launches()) <
               kMostOfRun * static_cast<double>(launches_read(trial.is_lead_lane(), counted));
    };
    if (!std::all_of(trials.begin(), trials.end(), is_of_part)) std::erase_if(trials, is_of_part);
    return trials;
}

Period found(const Reading& reading, const std::vector<Trial>& trials, const Counted& counted) {
    Period period;
    period.anchor = reading.trial->anchor();
    period.confidence = reading.confidence();
    const bool is_lead = reading.trial->is_lead_lane();
    if (is_lead) period.lead_lane = counted.lead_lane();
    const auto inside = static_cast<double>(reading.trial->explained_launches(reading.lag));
    const auto all = static_cast<double>(launches_read(is_lead, counted));
    if (inside < kMostOfRun * all)
        return refused("the repeating part is only " + figure(100 * inside / all, "%.0f") +
                       " % of the run's launches");
    if (period.confidence < kConfidence)
        return refused("the best period repeats only " + figure(reading.steps(), "%.0f") +
                       " times: its confidence is " + figure(period.confidence, "%.2f") + ", 0.80 is needed");
    if (const size_t lag = undecided_lag(reading); lag != 0)
        return refused(
            "one in " + std::to_string(lag) + " stretches from " + in_words(period.anchor) +
            " to the next is different: no optimizer kernel or collective shows whether it ends a step");
    if (hides_finer(reading, trials))
        return refused("the repeating part from " + in_words(period.anchor) +
                       " to the next consists of similar stretches, but these alone are not regular enough");
    if (is_one_of_several_copies(reading))
        return refused(
            "the same copy occurs several times in the repeating part: no optimizer kernel or sync shows "
            "which is the first of a step");
    period.is_found = true;
    period.micro_steps = reading.micro_steps;
    period.merge_by = reading.merge_by;
    period.typical = reading.trial->typical();
    period.early = reading.trial->early();
    if (is_lead)
        period.why = "several lanes run at once: the signatures are those of the lane with the most launches";
    return period;
}

// An input, an optimizer or a sync makes a stretch a step; layers have none. Finest first: what a program
// does every ten steps has them, too.
Period choose(const std::vector<Reading>& fitting, const std::vector<Trial>& trials, const Counted& counted) {
    const Reading& finest = fitting.front();
    for (const Reading& reading : fitting) {
        const auto is_decided_by = [&](const Reading& other) { return decides(other, reading); };
        if (undecided_lag(reading) != 0 && std::any_of(fitting.begin(), fitting.end(), is_decided_by))
            continue;
        const bool begins = reading.has_copies() || reading.has_optimizers();
        // A program may also look only every ten steps: a sync alone does not say that what is finer are
        // layers.
        const bool ends = reading.has_syncs() &&
                          (reading.trial->optimizer_distance() != 0 || !is_clearly_finer(finest, reading));
        if (begins || ends) return found(best_of_same(fitting, reading), trials, counted);
    }
    if (is_clearly_finer(finest, fitting.back()))
        return refused(
            "more than one period fits: no input copy, optimizer kernel or sync shows which is the step");
    return found(best_of_same(fitting, finest), trials, counted);
}

}  // namespace

std::string in_words(const Candidate& anchor) {
    switch (anchor.kind) {
        case KeyKind::input:
            return "the first copy to the device after other work";
        case KeyKind::after_sync:
            return "the first operation after a sync";
        case KeyKind::pair:
            return anchor.is_copy ? "a copy to the device after the same operation"
                                  : "a kernel after the same operation";
        default:
            break;
    }
    if (anchor.is_copy)
        return anchor.kind == KeyKind::name ? "a copy to the device"
                                            : "a copy to the device of the same size";
    return anchor.preference() > 0 ? "the kernel that follows the sync" : "a kernel";
}

Period find_period(const TokenSource& source) {
    const Counted counted = count(source);
    const std::vector<Trial> trials = of_run(try_all(source, counted), counted);
    std::vector<Reading> fitting;
    for (const Trial& trial : trials)
        if (const Reading reading = read(trial); fits(reading)) fitting.push_back(reading);
    if (fitting.empty()) return refused(why_none(trials));
    std::sort(fitting.begin(), fitting.end(), is_finer);
    return choose(fitting, trials, counted);
}

}  // namespace gpushim::analysis
