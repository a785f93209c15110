#include "period.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "steps.h"

namespace gpushim::analysis {

namespace {

constexpr double kConfidence = 0.80;  // less is a guess
constexpr double kMostOfRun = 0.50;   // of all launches must lie in what is explained
constexpr size_t kTrials = 16;
constexpr int64_t kFewestInLoop = 20;  // steps, behind a start-up that has most of the launches
constexpr int64_t kMostWarmUp = 3;     // steps like them before

struct Counted {
    Candidates candidates;
    std::map<int32_t, int64_t> lanes;
    int64_t launches = 0, optimizers = 0, graphs = 0, operations = 0;
    bool trains = false;  // as far as names tell
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
        counted.optimizers += token.is_optimizer;
        counted.trains |= token.is_optimizer || token.purpose.trains;
        counted.graphs += token.kind == TokenKind::graph;
        counted.operations += token.operations;
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
                trial.begin_piece(trial.is_lead_lane() ? of_lead : all, token.at_ns);
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

Period of_part(std::string why) {
    Period period = refused(std::move(why));
    period.is_of_part = true;
    return period;
}

Period none_of(const std::vector<Trial>& trials) {
    const Trial* best = nullptr;
    double most = 0;
    for (const Trial& trial : trials) {
        const double explained = trial.explained_share(trial.best_lag());
        if (is_single_launch(trial) || (best != nullptr && explained <= most)) continue;
        best = &trial;
        most = explained;
    }
    if (trials.empty()) return refused("no operation repeats often enough to be a period");
    if (best == nullptr) return refused("one operation repeats: no copy or sync shows where a step begins");
    const std::string period = "from " + in_words(best->anchor()) + " to the next";
    if (most >= Trial::kExplained)
        return of_part("several different stretches repeat, " + period +
                       ": no optimizer kernel or collective shows whether they are one step");
    return of_part("the best period, " + period + ", explains " + figure(100 * most, "%.0f") +
                   " % of the launches; 90 % are needed");
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

// A program may also look at a value only every ten steps, and nothing tells layers from these.
constexpr double kByReadsAlone = 0.85;

// `finer`: what lies several times in each of its pieces, which end in a read-back of the host, and is taken
// for a part of them.
Period found(const Reading& reading, const std::vector<Trial>& trials, const Counted& counted,
             const Reading* finer = nullptr) {
    Period period;
    period.anchor = reading.trial->anchor();
    period.confidence = reading.confidence();
    const bool is_lead = reading.trial->is_lead_lane();
    if (is_lead) period.lead_lane = counted.lead_lane();
    const auto inside = static_cast<double>(reading.trial->explained_launches(reading.lag));
    const auto all = static_cast<double>(launches_read(is_lead, counted));
    if (inside < kMostOfRun * all)
        return of_part("the repeating part is only " + figure(100 * inside / all, "%.0f") +
                       " % of the run's launches");
    if (period.confidence < kConfidence)
        return refused("the best period repeats only " + figure(reading.steps(), "%.0f") +
                       " times: its confidence is " + figure(period.confidence, "%.2f") + ", 0.80 is needed");
    if (const size_t lag = undecided_lag(reading); lag != 0 && finer == nullptr)
        return refused(
            "one in " + std::to_string(lag) + " stretches from " + in_words(period.anchor) +
            " to the next is different: no optimizer kernel or collective shows whether it ends a step");
    if (hides_finer(reading, trials))
        return refused("where a step begins is not sure: from " + in_words(period.anchor) +
                       " to the next, similar stretches come several times, but not regularly");
    if (is_one_of_several_copies(reading))
        return refused(
            "the same copy occurs several times in the repeating part: no optimizer kernel or sync shows "
            "which is the first of a step");
    period.is_found = true;
    period.micro_steps = reading.micro_steps;
    period.merge_by = reading.merge_by;
    period.span_ns = reading.trial->span_ns();
    period.steps = reading.steps();
    period.begins_plainly = reading.has_copies() || reading.has_optimizers() || reading.has_syncs();
    period.updates_tell = updates_tell(reading);
    period.typical = reading.trial->typical();
    period.early = reading.trial->early();
    if (is_lead)
        period.why = "several lanes run at once: the signatures are those of the lane with the most launches";
    if (finer == nullptr) return period;
    period.confidence *= kByReadsAlone;
    period.why = std::string(kByReads) + "; about " + figure(finer->steps() / reading.steps(), "%.0f") +
                 " stretches that are much alike lie in each, and are taken for parts of it";
    return period;
}

// An input, an optimizer or a sync makes a stretch a step; layers have none. Finest first: what a program
// does every ten steps has them, too.
Period choose(const std::vector<Reading>& fitting, const std::vector<Trial>& trials, const Counted& counted) {
    const Reading& finest = fitting.front();
    for (const Reading& reading : fitting) {
        const bool begins = reading.has_copies() || reading.has_optimizers();
        // A program may also look only every ten steps: a sync alone does not say that what is finer are
        // layers.
        const bool ends = reading.has_syncs() &&
                          (reading.trial->optimizer_distance() != 0 || !is_clearly_finer(finest, reading));
        if (begins || ends) return found(best_of_same(fitting, reading), trials, counted);
    }
    // Where nothing trains, what the host reads is what it goes on by: the next image, the next prompt.
    // What a graph holds has no names here: it may train, and its launches be the steps.
    for (const Reading& reading : fitting)
        if (reading.is_read_back() && !counted.trains && counted.graphs == 0)
            return found(best_of_same(fitting, reading), trials, counted, &finest);
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

namespace {

// Where one of them shows how parameters are updated, those that are beside that are none; nor is one of a
// part that trains nothing.
bool leave_training(std::vector<Reading>& fitting) {
    if (std::none_of(fitting.begin(), fitting.end(), is_beside_training)) return false;
    std::vector<Reading> mostly;
    std::copy_if(fitting.begin(), fitting.end(), std::back_inserter(mostly), [](const Reading& reading) {
        return !is_beside_training(reading) && !is_beside_training_throughout(reading);
    });
    if (mostly.empty())
        std::erase_if(fitting, is_beside_training_throughout);
    else
        fitting = std::move(mostly);
    return true;
}

Period period_of(const std::vector<Trial>& trials, const Counted& counted) {
    std::vector<Reading> fitting;
    for (const Trial& trial : trials)
        if (const Reading reading = read(trial); fits(reading)) fitting.push_back(reading);
    if (fitting.empty()) return none_of(trials);
    if (leave_training(fitting) && fitting.empty())
        return refused("what repeats is beside the training: in most of it no parameters are updated");
    std::sort(fitting.begin(), fitting.end(), is_finer);
    return choose(fitting, trials, counted);
}

// The begin of the loop that the rest of the run consists of, however much comes before it.
std::optional<int64_t> loop_of(const std::vector<Trial>& trials, const Counted& counted) {
    std::optional<int64_t> from_ns;
    for (const Trial& trial : trials)
        for (size_t lag = 1; lag <= Trial::kLags; ++lag) {
            const Ending& ending = trial.ending(lag);
            if (is_single_launch(trial) || ending.pieces() < kFewestInLoop) continue;
            if (ending.explained_share(launches_read(trial.is_lead_lane(), counted)) < Trial::kExplained)
                continue;
            from_ns = std::min(from_ns.value_or(INT64_MAX), ending.from_ns());
        }
    return from_ns;
}

// How often something much like a step of the loop comes before it. A few may be steps that warm it up.
int64_t steps_in(const TokenSource& before, const Period& loop) {
    int64_t steps = 0;
    bool is_open = false;
    Tally running, begun;
    Keys keys;
    before([&](const Token& token) {
        if (keys.of(token).key[static_cast<size_t>(loop.anchor.kind)] == loop.anchor.key) {
            steps += is_open && is_near(running - begun, loop.typical);
            is_open = true;
            begun = running;
        }
        running.add(token, loop.lead_lane);
    });
    return steps;
}

Period find(const TokenSource& source, int loops);

// Start-up is less regular, or shorter. A program that trained before does something else now, unless graphs
// hide how it does it.
bool is_start_up(const TokenSource& before, const Period& loop, const Counted& in_loop, int loops) {
    if (steps_in(before, loop) > kMostWarmUp) return false;
    if (in_loop.optimizers + in_loop.graphs == 0 && count(before).optimizers > 0) return false;
    const Period other = find(before, loops - 1);
    return !other.is_found || other.span_ns < loop.span_ns;
}

// What repeats from `from_ns` on, judged as if the run had begun there. Nearly all that ran ran there: a
// graph's launch is one of few, and runs what thousands do; figures of a step are sums of the run.
Period behind_start_up(const TokenSource& source, int64_t operations, int64_t from_ns, int loops) {
    const TokenSource rest = within(source, from_ns, INT64_MAX);
    const Counted counted = count(rest);
    if (static_cast<double>(counted.operations) < Trial::kExplained * static_cast<double>(operations))
        return {};
    Period period = period_of(of_run(try_all(rest, counted), counted), counted);
    if (!period.is_found || !period.begins_plainly || period.steps < kFewestInLoop) return {};
    if (!is_start_up(within(source, INT64_MIN, from_ns), period, counted, loops)) return {};
    period.from_ns = from_ns;
    return period;
}

Period find(const TokenSource& source, int loops) {
    const Counted counted = count(source);
    const std::vector<Trial> trials = try_all(source, counted);
    Period period = period_of(of_run(trials, counted), counted);
    if (!period.is_of_part || loops == 0) return period;
    const auto from_ns = loop_of(trials, counted);
    if (!from_ns) return period;
    Period loop = behind_start_up(source, counted.operations, *from_ns, loops);
    return loop.is_found ? loop : period;
}

}  // namespace

Period find_period(const TokenSource& source) {
    constexpr int kLoops = 2;  // that and one before it, which may outweigh it
    return find(source, kLoops);
}

}  // namespace gpushim::analysis
