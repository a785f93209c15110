// The host does something else between or in steps (callbacks, metrics, logging, checkpoints, Python), in
// every step or in every n-th, and the GPU waits for it.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "../advice/contention.h"
#include "../advice/rule.h"
#include "../advice/some_steps.h"
#include "../text/units.h"
#include "host_overhead.h"

namespace gpushim::analysis::rule_step_gap {

namespace {

constexpr Causes kHost = {"callback", "host_cpu", "host_blocked", "host_unknown"};

// Where it is the interpreter's lock that the host waits for, another rule says so.
Causes host_of(const Situation& run) {
    return is_mostly_the_lock(run) ? Causes{"callback", "host_cpu", "host_unknown"} : kHost;
}

// Of steps in which no code is loaded: what the host did, unless that is a wait's (see reads_every_step); and
// the one gap between launches.
double other_ns(const GpuInStep& gpu, Causes host, bool reads, double usual_drained_ns) {
    const double of_waits_ns = std::min(gpu.drained_ns(host), kUnusual * usual_drained_ns);
    return gpu.idle_ns(host) - (reads ? of_waits_ns : 0) + gpu.pause_ns();
}

constexpr double kMostly = 0.5;  // of what the host did
constexpr Heading kUntold = {"host-bound", "Host time of unknown use",
                             "the GPU waits, and nothing tells what the host does",
                             "finding out what the host does there"};

// Both end in the copy of a batch, and from outside a loader that is late looks like a pause of the program.
constexpr Heading kBeforeBatch = {"host-bound", "Long waits before some batches",
                                  "the GPU waits for late batches or other work of the host, in some steps",
                                  "loading those ahead, or doing other work less often"};

constexpr Heading kOff = {"host-bound", "Waits of the host",
                          "the GPU waits while the host is off its processor",
                          "finding out what the host waits for"};

struct Pauses {
    Gain gain;
    std::map<int64_t, double> by_rank_ns;
    double all_ns = 0, before_batch_ns = 0;
    SomeSteps where;
};

Pauses pauses_of(const Situation& run) {
    const Causes host = host_of(run);
    const bool reads = run.reads_every_step();
    const double usual_drained_ns = run.what_if().usual_drained_ns(host);
    std::vector<std::pair<double, int64_t>> longest;  // of the rank that has most of it; number of the step
    Pauses pauses;
    // What looks like loading a batch, where it is much more than is usual.
    const auto late_ns = [&](const GpuInStep& gpu) {
        return gpu.loads_code ? 0 : run.more_than_input_ns(gpu);
    };
    const auto pause_ns = [&](const GpuInStep& gpu) {
        return gpu.loads_code ? 0 : other_ns(gpu, host, reads, usual_drained_ns) + late_ns(gpu);
    };
    pauses.gain =
        run.what_if().shorter([&](const GpuInStep& gpu) { return without_idle(gpu, pause_ns(gpu)); });
    const std::vector<double> pauses_ns = run.what_if().of_each(pause_ns);
    size_t at = 0;
    run.what_if().each([&](const GpuInStep& gpu) {
        const double ns = pauses_ns[at++];
        pauses.all_ns += ns;
        pauses.by_rank_ns[gpu.rank_id] += ns;
        pauses.before_batch_ns += late_ns(gpu);
        if (longest.empty() || longest.back().second != gpu.number) longest.emplace_back(0, gpu.number);
        longest.back().first = std::max(longest.back().first, ns);
    });
    // Without a processor the host does nothing else: that is host_contention.
    pauses.gain = without_contention(run, host, pauses.gain);
    pauses.where = some_steps(std::move(longest));
    return pauses;
}

// Where a line was seen, nobody has to look for it.
std::string advice_of(const Situation& run, const char* what, const Finding& found) {
    return found.where.empty() ? run.advice({what, "step_gap.look"}) : run.advice({what});
}

// "the GPU", or that of the one rank which has nearly all of it.
std::string whose_gpu(const Situation& run, const Pauses& pauses) {
    constexpr double kNearlyAll = 0.9;
    if (run.ranks() > 1)
        for (const auto& [rank_id, ns] : pauses.by_rank_ns) {
            if (ns <= kNearlyAll * pauses.all_ns) continue;
            Query row = run.ask("SELECT rank FROM rank WHERE rank_id = ?1");
            row.bind(1, rank_id);
            if (row.step() && !row.is_null(0)) return "the GPU of rank " + std::to_string(row.number(0));
        }
    return "the GPU";
}

// What the host is in is known, and it is nothing: nobody told what it waits for.
bool is_mostly_off(const Situation& run) {
    return run.what_if().idle_ns({"host_blocked"}) - contended_ns(run, Causes{"host_blocked"}) >
           kMostly * run.what_if().idle_ns(kHost);
}

void say_off(const Situation& run, const std::string& whose, const std::string& gain, Finding& found) {
    found.heading = &kOff;
    found.title = whose + " is idle " + gain + " of a " + run.per() +
                  " while the launching thread is off its processor";
    found.where = run.seen_in(kHost);
    found.try_it = advice_of(run, "step_gap.off", found);
}

void say_other(const Situation& run, const std::string& whose, const std::string& gain, Finding& found) {
    found.title = whose + " is idle " + gain + " of a " + run.per() + " while the host does something else";
    found.where = run.seen_in(kHost);
    found.try_it = advice_of(run, run.is_per_step() ? "step_gap.in_steps" : "step_gap.without_steps", found);
}

void say_untold(const Situation& run, const std::string& gain, const std::string& untold, Finding& found) {
    found.heading = &kUntold;
    found.title = "the GPU is idle " + gain + " of a " + run.per() + ", and for " + untold +
                  " of it nothing tells what the host did";
    found.try_it = run.advice({"step_gap.untold"});
    found.where = run.seen_in(kHost);
}

void say_before_batch(const Situation& run, const std::string& gain, Finding& found) {
    found.heading = &kBeforeBatch;
    found.title =
        "the GPU waits " + gain +
        " of a step before the copy of a batch, in some steps much longer than is usual: for a batch "
        "that is late, or while the host does something else";
    found.where = run.seen_in(kInputCauses);
    found.try_it = advice_of(run, "step_gap.before_batch", found);
}

std::optional<Finding> look(const Situation& run) {
    const Pauses pauses = pauses_of(run);
    Finding found;
    found.gain = pauses.gain;
    if (found.gain.high_ns <= 0) return {};
    const std::string gain = duration_text(found.gain.high_ns);
    const double untold_ns = run.what_if().idle_ns({"host_unknown"});
    // What looks like loading a batch is told, too, as is the one gap between launches.
    if (untold_ns > kMostly * std::max(run.what_if().idle_ns(kHost), found.gain.high_ns))
        say_untold(run, gain, duration_text(std::min(untold_ns, found.gain.high_ns)), found);
    else if (run.is_per_step() && pauses.before_batch_ns > kMostly * pauses.all_ns)
        say_before_batch(run, gain, found);
    else if (is_mostly_off(run))
        say_off(run, whose_gpu(run, pauses), gain, found);
    else
        say_other(run, whose_gpu(run, pauses), gain, found);
    found.in_some_steps = run.has_steps() && pauses.where.is_some();
    if (found.in_some_steps) found.title += pauses.where.text();
    found.confidence = 0.7;
    found.yields = true;  // what else the host did does not say why
    found.evidence = run.gaps_of(
        {"callback", "host_cpu", "host_blocked", "host_unknown", "input_loading", "input_cpu", "input_wait"});
    return found;
}

constexpr Heading kHeading = {"host-bound", "Other work of the host",
                              "the GPU waits while the host does something else",
                              "doing that less often, or in another thread"};
const RuleRegistration kRegistration({"step_gap", Scope::kOneGpu, look, kHeading, Programs::training});

}  // namespace

}  // namespace gpushim::analysis::rule_step_gap
