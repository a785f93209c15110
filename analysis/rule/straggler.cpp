// One rank has more own work than the others, and they wait for it in every collective, or for a while, or in
// every n-th step. Names the rank, and what it is that takes it longer; what to do depends on that.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../advice/rule.h"
#include "../advice/some_steps.h"
#include "../skew/saved.h"
#include "../text/units.h"
#include "timed_gpus.h"

namespace gpushim::analysis::rule_straggler {

namespace {

constexpr double kAgree = 0.2;    // lateness and waits, by more something else decides
constexpr double kLonger = 1.05;  // by less it is not said how many times

struct Remedy {
    const char *cause, *words, *advice;
    const char* subject = nullptr;     // what takes longer …
    double TimedGpu::*what = nullptr;  // … and how long that is
};
constexpr Remedy kRemedies[] = {
    {"input", "its input is late", "straggler.input"},
    {"host", "its launching thread is late", "straggler.host"},
    {"copy", "its copies take longer", "straggler.copy", "its copies", &TimedGpu::copy_ns},
    {"compute", "its kernels take longer", "straggler.compute", "its kernels", &TimedGpu::compute_ns},
    {"other_work", "it does other work than they", "straggler.other_work",
     "it does other work than they: its kernels", &TimedGpu::compute_ns},
    {"clocks", "its clock is lower", "straggler.clocks"},
    {"wait", "it waits for another GPU", "straggler.wait"},
};
constexpr Remedy kUnattributed = {"unattributed", "no single cause", "straggler"};

const Remedy& remedy_of(const std::string& cause) {
    for (const Remedy& remedy : kRemedies)
        if (remedy.cause == cause) return remedy;
    return kUnattributed;
}

struct Straggler {
    std::vector<Evidence> evidence;
    std::string comm, cause;
    int64_t comm_rank = -1, rank_id = -1;
    SavedPerStep saved = {};
    double mirror_disagreement = 0;
    std::string when;  // empty: all the time
};

std::optional<Straggler> of_whole_run(const Situation& run) {
    Query row = run.ask(
        "SELECT rowid, comm, straggler_rank, time_saved_per_step_ns, coalesce(mirror_disagreement, 0),"
        " coalesce(cause, ''), least_saved_per_step_ns,"
        " coalesce(most_saved_per_step_ns, time_saved_per_step_ns) FROM skew WHERE straggler_rank IS NOT NULL"
        " AND time_saved_per_step_ns IS NOT NULL ORDER BY time_saved_per_step_ns DESC, comm LIMIT 1");
    if (!row.step()) return {};
    Straggler found;
    found.evidence = {{"skew", row.number(0)}};
    found.comm = row.text(1);
    found.comm_rank = row.number(2);
    found.saved = {row.number(3), row.maybe(6), row.number(7)};
    found.mirror_disagreement = row.real(4);
    found.cause = row.text(5);
    return found;
}

// A rank that held the others back in part of the run: over the whole run it may save little. A mean of the
// steps in which ranks could be compared: of no others is it known.
std::optional<Straggler> of_a_while(const Situation& run) {
    Query row = run.ask(
        "SELECT w.rowid, w.comm, w.comm_rank,"
        " sum(w.saved_ns) OVER (PARTITION BY w.comm, w.comm_rank) * 1.0 / s.steps AS saved,"
        " w.first_step, w.last_step FROM straggler_window w JOIN skew s USING (comm) WHERE s.steps > 0"
        " ORDER BY saved DESC, w.saved_ns DESC LIMIT 1");
    if (!row.step()) return {};
    Straggler found;
    found.evidence = {{"straggler_window", row.number(0)}};
    found.comm = row.text(1);
    found.comm_rank = row.number(2);
    const int64_t most_ns = std::llround(row.real(3));
    found.saved = {most_ns, {}, most_ns};
    found.when = ", most in steps " + std::to_string(row.number(4)) + " to " + std::to_string(row.number(5));
    return found;
}

void name_rank(const Situation& run, Straggler& found) {
    Query row = run.ask("SELECT rowid, rank_id FROM skew_rank WHERE comm = ?1 AND comm_rank = ?2");
    row.bind(1, found.comm);
    row.bind(2, found.comm_rank);
    if (!row.step()) return;
    found.evidence.push_back({"skew_rank", row.number(0)});
    found.rank_id = row.number(1);
}

std::string rank_text(const Situation& run, const Straggler& found) {
    Query row = run.ask("SELECT rank FROM rank WHERE rank_id = ?1");
    row.bind(1, found.rank_id);
    return row.step() && !row.is_null(0) ? "rank " + std::to_string(row.number(0))
                                         : "rank " + std::to_string(found.comm_rank) + " of a communicator";
}

// What the rank's GPUs take for it in a mean step, beside the median of the others': "1.4 times as long".
std::string times_as_long(const Situation& run, int64_t rank_id, double TimedGpu::*what) {
    std::set<int64_t> own;
    Query row = run.ask("SELECT gpu_id FROM gpu WHERE rank_id = ?1");
    row.bind(1, rank_id);
    while (row.step()) own.insert(row.number(0));
    double longest_ns = 0;
    std::vector<double> others_ns;
    for (const TimedGpu& gpu : timed_gpus(run)) {
        if (own.contains(gpu.gpu_id))
            longest_ns = std::max(longest_ns, gpu.*what);
        else
            others_ns.push_back(gpu.*what);
    }
    if (others_ns.empty()) return "";
    const auto middle = others_ns.begin() + static_cast<std::ptrdiff_t>(others_ns.size() / 2);
    std::nth_element(others_ns.begin(), middle, others_ns.end());
    if (*middle <= 0 || longest_ns < kLonger * *middle) return "";
    const double times = longest_ns / *middle;
    char text[48];
    std::snprintf(text, sizeof text, times < 10 ? "%.1f times as long" : "%.0f times as long", times);
    return text;
}

std::string words_of(const Situation& run, const Straggler& found, const Remedy& remedy) {
    if (remedy.what == nullptr || !found.when.empty()) return remedy.words;
    const std::string times = times_as_long(run, found.rank_id, remedy.what);
    return times.empty() ? remedy.words : std::string(remedy.subject) + " take " + times;
}

// By timed steps: were its own work as short as that of the next.
double saved_in_timed_steps(const Situation& run, int64_t rank_id) {
    std::map<int64_t, Gain> all;
    Query row = run.ask("SELECT gpu_id FROM gpu WHERE rank_id = ?1");
    row.bind(1, rank_id);
    const double everything = std::numeric_limits<double>::max();
    while (row.step()) all[row.number(0)] = {everything, everything};
    return run.what_if().shorter(all).high_ns;
}

// By how much the rank with the most own work in a step has more than the next one, by rank and step.
using Excesses = std::map<int64_t, std::vector<std::pair<double, int64_t>>>;

Excesses excesses_of(const Situation& run) {
    std::map<int64_t, std::map<int64_t, double>> own_ns;  // by step and rank
    for (const GpuInStep& gpu : run.basis().rows()) {
        double& ns = own_ns[gpu.number][gpu.rank_id];
        ns = std::max(ns, gpu.own_ns());
    }
    Excesses excesses;
    for (const auto& [number, ranks] : own_ns) {
        if (static_cast<int64_t>(ranks.size()) < run.ranks()) continue;
        double most_ns = 0, next_ns = 0;
        int64_t most = -1;
        for (const auto& [rank, ns] : ranks) {
            next_ns = std::max(next_ns, std::min(most_ns, ns));
            if (ns > most_ns) most = rank;
            most_ns = std::max(most_ns, ns);
        }
        for (const auto& [rank, ns] : ranks)
            excesses[rank].emplace_back(rank == most ? most_ns - next_ns : 0, number);
    }
    return excesses;
}

// One rank alone evaluates, or writes a checkpoint, every n-th step: it is seldom the last, and costs the
// others more than all else.
std::optional<Finding> in_some_steps(const Situation& run) {
    constexpr double kMostOfIt = 0.8, kNotAll = 0.5;  // of all excess; of it that goes, for work may stay
    if (!run.has_steps() || run.ranks() < 2 || !run.number("SELECT 1 FROM skew WHERE steps > 0")) return {};
    double all_ns = 0, most_ns = 0;
    int64_t rank_id = -1;
    SomeSteps where;
    for (auto& [rank, steps] : excesses_of(run)) {
        double sum_ns = 0;
        for (const auto& [ns, number] : steps) sum_ns += ns;
        all_ns += sum_ns;
        if (sum_ns <= most_ns) continue;
        most_ns = sum_ns;
        rank_id = rank;
        where = some_steps(std::move(steps));
    }
    if (most_ns < kMostOfIt * all_ns || all_ns <= 0 || !where.is_some()) return {};
    Straggler straggler;
    straggler.rank_id = rank_id;
    Finding found;
    found.lead = "the others wait for " + rank_text(run, straggler) + ", which does more in some steps";
    found.title = rank_text(run, straggler) + " makes the others wait in some steps" + where.text() +
                  ": it does what they do not, or its host pauses";
    found.try_it = run.advice({"straggler.some_steps"});
    const double high_ns = saved_in_timed_steps(run, rank_id);
    found.gain = {kNotAll * high_ns, high_ns};
    found.confidence = 0.7;
    found.in_some_steps = true;
    found.evidence = run.rows("skew", "SELECT rowid FROM skew ORDER BY lost_gpu_ns DESC LIMIT 1");
    return found;
}

// All the time, or for a while.
std::optional<Finding> at_all_times(const Situation& run) {
    auto straggler = of_whole_run(run);
    if (!straggler) straggler = of_a_while(run);
    if (!straggler) return {};
    name_rank(run, *straggler);
    const Remedy& remedy = remedy_of(straggler->cause);
    const std::string words = words_of(run, *straggler, remedy);
    const double timed_ns = saved_in_timed_steps(run, straggler->rank_id);
    Finding found;
    found.lead = "the others wait for " + rank_text(run, *straggler) + ": " + words;
    found.title = rank_text(run, *straggler) + " makes the others wait" + straggler->when + ": " + words +
                  "; were it as fast as they, each " + run.per() + " would be " + straggler->saved.text() +
                  " shorter";
    found.try_it = run.advice({remedy.advice});
    const double high_ns = std::min(static_cast<double>(straggler->saved.most_ns), run.step_ns());
    double low_ns = straggler->when.empty() ? timed_ns : 0;
    if (straggler->saved.least_ns) low_ns = static_cast<double>(*straggler->saved.least_ns);
    found.gain = {std::min(low_ns, high_ns), high_ns};
    found.confidence = straggler->mirror_disagreement > kAgree || &remedy == &kUnattributed ? 0.5 : 0.9;
    found.evidence = std::move(straggler->evidence);
    return found;
}

// What one rank does in some steps alone looks like other work all the time, and may hide behind a rank that
// is a little slower: what costs more is said.
std::optional<Finding> look(const Situation& run) {
    if (!run.is_known()) return {};
    auto steady = at_all_times(run), in_some = in_some_steps(run);
    if (!steady || !in_some) return steady ? steady : in_some;
    const auto mean_of = [](const Finding& one) { return one.gain.low_ns + one.gain.high_ns; };
    const bool is_other_work = steady->try_it == run.advice({"straggler.other_work"});
    return is_other_work || mean_of(*in_some) > mean_of(*steady) ? in_some : steady;
}

constexpr Heading kHeading = {"straggler", "A rank that holds the others back",
                              "the others wait for one rank", "a rank as fast as the others"};
const RuleRegistration kRegistration({"straggler", Scope::kManyGpus, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_straggler
