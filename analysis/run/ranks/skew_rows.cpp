// Ranks beside each other: who makes whom wait, and what the clocks of their hosts are worth.
#include <algorithm>
#include <string>

#include "../../skew/saved.h"
#include "../collectives/collective_run.h"
#include "../sql/run_db.h"
#include "rank_rows.h"
#include "skew_cause.h"
#include "skew_replay.h"

namespace gpushim::analysis {

namespace {

struct Skew {
    std::vector<WorkBefore> work;
    std::vector<size_t> instances;  // of the communicator, by work: the one that it led to
    Blame blame = {};  // of all ranks; straggler: of those that can be compared, who costs most …
    bool does_other_work = false;  // … or, where it is none of these, of all
    std::optional<int64_t> spread_ns, clock_error_ns;
    std::optional<SavedPerStep> saved;  // by the straggler, if it were like the others; none: not known
    std::optional<StragglerCause> cause;
    std::optional<ReplayedPart> replayed;  // none: all, or nothing could be replayed
    std::string why;

    // Without a replay a bound.
    SavedPerStep saved_per_step() const {
        const int64_t bound_ns = blame.straggler ? blame.straggler->saved_ns / blame.steps : 0;
        return saved.value_or(SavedPerStep{bound_ns, {}, bound_ns});
    }
    void say(const std::string& words) { why += (why.empty() ? "" : "; ") + words; }
};

int64_t steps_of(const std::vector<WorkBefore>& work) {
    int64_t steps = 0;
    for (size_t i = 0; i < work.size(); ++i) steps += i == 0 || work[i].step != work[i - 1].step;
    return steps;
}

// What was replayed of it, unless that is too few steps to tell a slow rank by. Each piece begins a replay,
// and of steps that are as long as pieces nearly none has a whole one.
void take_replayed(std::vector<std::vector<int64_t>> replayed_ns, int64_t enough_steps, Skew& skew) {
    std::vector<size_t> known;  // of the work
    int64_t steps = 0;
    for (size_t i = 0; i < skew.work.size(); ++i) {
        if (replayed_ns[skew.instances[i]].empty()) continue;
        steps += known.empty() || skew.work[i].step != skew.work[known.back()].step;
        known.push_back(i);
    }
    if (!skew.replayed && steps < enough_steps && steps < steps_of(skew.work)) return;
    for (size_t i = 0; i < known.size(); ++i) {
        if (i != known[i]) skew.work[i] = std::move(skew.work[known[i]]);
        skew.instances[i] = skew.instances[known[i]];
        skew.work[i].replayed_ns = std::move(replayed_ns[skew.instances[i]]);
    }
    skew.work.resize(known.size());
    skew.instances.resize(known.size());
}

// What lies in no step that counts is left out.
void find_work(const RunCommunicator& comm, const SkewReplay& replay, Skew& skew) {
    std::optional<CollectiveInstance> before;
    for (auto after = comm.instances.begin(); after != comm.instances.end(); ++after) {
        if (is_point_to_point(after->op)) continue;
        if (before && before->replays != 1) break;  // replays may lie anywhere behind it
        const RankPart& first = after->parts.front();
        const int32_t step = comm.call(first).step;
        if (before && counts(*comm.seat(first).facts, step))
            if (auto work = own_work(*before, *after, step)) {
                skew.work.push_back(std::move(*work));
                skew.instances.push_back(after.index());
            }
        before = *after;
    }
    if (replay.is_known()) take_replayed(replay.at_most_saved(), fewest_steps(comm.seats.size()), skew);
}

int64_t median_step_ns(const TraceFacts& facts) {
    std::vector<int64_t> lengths;
    for (size_t i = 0; i < facts.steps.size(); ++i)
        if (counts(facts, static_cast<int32_t>(i))) lengths.push_back(facts.steps[i].length_ns());
    return percentile(lengths, 50).value_or(0);
}

Blame blame_of(const RunCommunicator& comm, const std::vector<WorkBefore>& work, const RunDb& run) {
    const int64_t step_ns = median_step_ns(*comm.seats.front().facts);
    Blame result = {};
    for (const std::vector<int>& alike : comparable_ranks(kernel_fingerprints(comm, run))) {
        const Blame group = blame(work, step_ns, alike);
        std::vector<RankBlame> ranks = std::move(result.ranks);
        ranks.insert(ranks.end(), group.ranks.begin(), group.ranks.end());
        const auto before = result.straggler;
        const auto suspect = result.suspect ? result.suspect : group.suspect;
        result = group;
        result.suspect = suspect;
        result.ranks = std::move(ranks);
        if (before && (!group.straggler || before->saved_ns > group.straggler->saved_ns))
            result.straggler = before;
    }
    return result;
}

// Of ranks that do other work one may hold the rest back, too: it has larger tables, or more layers.
void find_straggler(const RunCommunicator& comm, const RunDb& run, Skew& skew) {
    skew.blame = blame_of(comm, skew.work, run);
    if (skew.blame.straggler) return;
    skew.blame.straggler = blame(skew.work, median_step_ns(*comm.seats.front().facts)).straggler;
    skew.does_other_work = skew.blame.straggler.has_value();
}

bool is_worth_mentioning(int64_t saved_ns, int64_t step_ns) {
    constexpr double kWorthMentioning = 0.01;  // of the step time
    return static_cast<double>(saved_ns) >= kWorthMentioning * static_cast<double>(step_ns);
}

// A rank that would save next to nothing is none that holds the others back.
void find_saved(const SkewReplay& replay, int64_t step_ns, Skew& skew) {
    if (!skew.blame.straggler) return;
    const Savings saved = replay.saved_if_like_others(skew.blame.straggler->rank);
    std::vector<int64_t> by_step;
    for (size_t i = 0; i < skew.work.size(); ++i) {
        if (!saved[skew.instances[i]]) return;
        if (i == 0 || skew.work[i].step != skew.work[i - 1].step) by_step.push_back(0);
        by_step.back() += *saved[skew.instances[i]];
    }
    skew.saved = saved_per_step(by_step, skew.blame.straggler->saved_ns / skew.blame.steps, step_ns);
    if (is_worth_mentioning(skew.saved->most_ns, step_ns)) return;
    skew.blame.straggler.reset();
    skew.saved.reset();
}

void find_spread(const CollectiveRun& all, const RunCommunicator& comm, Skew& skew) {
    skew.clock_error_ns = clock_error_ns(comm, all.clocks);
    std::vector<int64_t> spreads, place;
    for (const CollectiveInstance& instance : comm.instances)
        if (const auto offsets = clock_offsets(comm, all.clocks, instance, place))
            if (const auto spread = spread_ns(instance, *offsets, 0)) spreads.push_back(*spread);
    skew.spread_ns = percentile(spreads, 50);
    if (!skew.clock_error_ns) {
        skew.spread_ns.reset();
        skew.say("the clocks of its hosts cannot be compared");
    } else if (skew.spread_ns && *skew.spread_ns < *skew.clock_error_ns) {
        skew.spread_ns.reset();
        skew.say("the spread of starts is below the clock error of " + std::to_string(*skew.clock_error_ns) +
                 " ns");
    }
}

// However quick that rank is, the others compute as long as they did. Not by steps in which it was not late,
// nor where graphs ran: collectives may be in them.
void limit_saved(const RankParts& parts, int64_t step_ns, Skew& skew) {
    if (!skew.blame.straggler || !skew.cause || parts.has_graphs) return;
    const auto late = static_cast<size_t>(skew.blame.straggler->rank);
    int64_t others_ns = 0;
    for (size_t rank = 0; rank < parts.computing_ns.size(); ++rank)
        if (rank != late) others_ns = std::max(others_ns, parts.computing_ns[rank]);
    const int64_t rest_ns = (parts.length_ns[late] - others_ns) / static_cast<int64_t>(parts.steps);
    SavedPerStep saved = skew.saved_per_step();
    if (!is_worth_mentioning(rest_ns, step_ns)) return;
    const int64_t most_ns = std::max(rest_ns, saved.least_ns.value_or(0));
    saved.most_ns = std::min(saved.most_ns, most_ns);
    saved.saved_ns = std::min(saved.saved_ns, most_ns);
    skew.saved = saved;
}

void find_cause(const RunCommunicator& comm, const RankParts& parts, Skew& skew) {
    if (!skew.blame.straggler && skew.blame.suspect)
        return skew.say("rank " + std::to_string(skew.blame.suspect->rank) + " has most own work in all of " +
                        std::to_string(skew.blame.steps) + " timed steps, too few to tell it from chance: " +
                        std::to_string(fewest_steps(comm.seats.size())) + " are needed");
    if (!skew.blame.straggler) return skew.say("no rank is late by enough and more often than by chance");
    if (parts.own_ns.empty()) return skew.say("no cause is known: no step was timed as a whole on all ranks");
    skew.cause = cause_of(static_cast<size_t>(skew.blame.straggler->rank), parts.own_ns, parts.parts);
    if (skew.cause && skew.cause->name == "compute" && skew.does_other_work) skew.cause->name = "other_work";
    if (!skew.cause)
        skew.say("no cause is known: the rank was not late in the steps that were timed as a whole");
}

void write_ranks(const RunCommunicator& comm, const Skew& skew, RunDb& run) {
    for (const RankBlame& rank : skew.blame.ranks) {
        int64_t own_ns = 0;
        for (const WorkBefore& one : skew.work) own_ns += one.ranks[static_cast<size_t>(rank.rank)].own_ns;
        const CommSeat& seat = comm.seats[static_cast<size_t>(rank.rank)];
        run.add("skew_rank", {comm.uid, int64_t{rank.rank}, seat.facts->rank_id, rank.saved_ns,
                              rank.largest_steps, rank.p_value, rank.late_sum_ns, rank.wait_sum_ns, own_ns});
    }
}

void write_row(const RunCommunicator& comm, const Skew& skew, RunDb& run) {
    const auto& late = skew.blame.straggler;
    const bool known = !skew.work.empty();
    const SavedPerStep saved = skew.saved_per_step();
    run.add("skew",
            {comm.uid, skew.blame.steps, known ? Value(skew.blame.lost_gpu_ns) : Value(nullptr),
             maybe(skew.spread_ns), maybe(skew.clock_error_ns),
             known ? Value(skew.blame.mirror_disagreement) : Value(nullptr),
             late ? Value(int64_t{late->rank}) : Value(nullptr),
             late ? Value(saved.saved_ns) : Value(nullptr), late ? Value(late->p_value) : Value(nullptr),
             skew.cause ? Value(std::string(skew.cause->name)) : Value(nullptr),
             skew.cause ? Value(skew.cause->share) : Value(nullptr),
             skew.why.empty() ? Value(nullptr) : Value(skew.why),
             late ? maybe(saved.least_ns) : Value(nullptr), late ? Value(saved.most_ns) : Value(nullptr),
             skew.replayed ? Value(skew.replayed->first) : Value(nullptr),
             skew.replayed ? Value(skew.replayed->of) : Value(nullptr),
             !late && skew.blame.suspect ? Value(int64_t{skew.blame.suspect->rank}) : Value(nullptr),
             !late && skew.blame.suspect ? Value(fewest_steps(comm.seats.size())) : Value(nullptr)});
}

void write_transient(const RunCommunicator& comm, const Skew& skew, RunDb& run) {
    for (const Transient& one : transient_stragglers(skew.work, median_step_ns(*comm.seats.front().facts)))
        run.add("straggler_window", {comm.uid, one.first_step, one.last_step, int64_t{one.straggler.rank},
                                     one.straggler.saved_ns, one.straggler.p_value});
}

bool has_barriers(const RunCommunicator& comm) {
    return comm.is_known() && comm.ranks > 1 &&
           std::ranges::any_of(comm.instances.heads(),
                               [](const auto& instance) { return is_barrier_like(instance.op); });
}

}  // namespace

void write_clocks(const CollectiveRun& all, RunDb& run) {
    for (int clock = 0; clock < static_cast<int>(all.clocks.count()); ++clock) {
        const auto offset = all.clocks.offset(clock);
        run.add("clock_offset", {all.clocks.label(clock), all.clocks.label(0),
                                 offset ? Value(offset->point_ns) : Value(nullptr),
                                 offset ? Value(offset->low_ns) : Value(nullptr),
                                 offset ? Value(offset->high_ns) : Value(nullptr)});
    }
}

void write_skew(const CollectiveRun& all, const ReplayLimits& limits, RunDb& run) {
    for (const RunCommunicator& comm : all.communicators) {
        if (!has_barriers(comm)) continue;
        Skew skew;
        if (!comm.seats.front().has_place)
            skew.say("its trace does not say which rank it is");
        else if (!comm.all_seen())
            skew.say(std::to_string(comm.seats.size()) + " of " + std::to_string(comm.ranks) + " ranks");
        const SkewReplay replay(comm, run, limits);
        if (replay.is_known()) skew.replayed = replay.part();
        if (comm.all_seen()) find_work(comm, replay, skew);
        find_spread(all, comm, skew);
        if (skew.work.empty()) {
            skew.say("no two collectives in a row were timed on all ranks in a step that counts");
        } else {
            find_straggler(comm, run, skew);
            find_saved(replay, median_step_ns(*comm.seats.front().facts), skew);
            const RankParts parts = skew.blame.straggler ? rank_parts(all, comm, run) : RankParts();
            find_cause(comm, parts, skew);
            limit_saved(parts, median_step_ns(*comm.seats.front().facts), skew);
            write_ranks(comm, skew, run);
            write_transient(comm, skew, run);
        }
        write_row(comm, skew, run);
    }
}

}  // namespace gpushim::analysis
