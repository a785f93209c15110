// Ranks wait for each other's messages: stages of a pipeline, or parts of a grid. One has more to do than the
// others, or all have as much and the pipeline has to fill and to empty.
//
// clang-format off
//   rank 0  ██▒▒██▒▒██▒▒  ▒: waits for rank 1, which   |   rank 0  ██ ██ ▒▒ ▒▒ ██ ██  two micro-batches: each
//   rank 1  ▒▒██████████  has twice as much to do      |   rank 1  ▒▒ ██ ██ ██ ██ ▒▒  waits for a third
// clang-format on
#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "../text/units.h"
#include "timed_gpus.h"

namespace gpushim::analysis::rule_message_waits {

namespace {

constexpr double kMostly = 0.5;       // of the ranks' waits
constexpr double kUneven = 1.05;      // times the mean of all
constexpr double kFewerWaits = 0.75;  // of what fills and empties, with four times as many micro-batches
constexpr double kHalfMoved = 0.5;    // of the excess: layers and tables move as a whole

struct Exchanger {
    int64_t gpu_id;
    std::string name;
    double compute_ns = 0, wait_ns = 0;  // of a mean step
};

// In a mean timed step, by GPU: how long it waited for messages. Empty: there are none, or they are not most
// of what ranks wait for.
std::map<int64_t, double> message_waits(const Situation& run) {
    std::map<int64_t, double> waits;
    if (!run.number("SELECT 1 FROM collective_stat WHERE op = 'send' LIMIT 1")) return waits;
    double of_messages_ns = 0, of_all_ns = 0;
    Query row = run.ask(
        "SELECT i.gpu_id, total(iif(i.op = 'send', i.wait_ns, 0)), total(i.wait_ns)"
        " FROM collective_instance i JOIN v_gpu_basis b ON b.gpu_id = i.gpu_id AND b.step = i.step"
        " GROUP BY i.gpu_id");
    while (row.step()) {
        waits[row.number(0)] = row.real(1);
        of_messages_ns += row.real(1);
        of_all_ns += row.real(2);
    }
    if (of_messages_ns <= kMostly * of_all_ns) waits.clear();
    return waits;
}

// A process with several GPUs hands over by copies or by all of its communicators: what of that is whose wait
// is not told. Nor is anything said where it is not known how long one of them waited.
std::vector<Exchanger> exchangers_of(const Situation& run) {
    const std::map<int64_t, double> waits = message_waits(run);
    if (waits.empty()) return {};
    std::map<int64_t, double> compute_ns;
    for (const TimedGpu& gpu : timed_gpus(run)) compute_ns[gpu.gpu_id] = gpu.compute_ns;
    std::vector<Exchanger> all;
    std::set<int64_t> ranks;
    Query row = run.ask(
        "SELECT u.gpu_id, coalesce(r.rank, u.rank_id), u.gpu_id IN (SELECT gpu_id FROM v_unknown_wait)"
        " FROM gpu u JOIN rank r ON r.rank_id = u.rank_id ORDER BY u.gpu_id");
    while (row.step()) {
        const auto waited = waits.find(row.number(0));
        if (waited == waits.end()) continue;
        const GpuTotal* total = run.basis().total_of(row.number(0));
        const bool is_known = total != nullptr && total->basis == "steps" && row.number(2) == 0;
        if (!is_known || !ranks.insert(row.number(1)).second) return {};
        const auto steps = static_cast<double>(total->steps);
        all.push_back({row.number(0), "rank " + std::to_string(row.number(1)), compute_ns[row.number(0)],
                       std::min(waited->second, total->real(WhatRan::waiting_for_peer)) / steps});
    }
    return all;
}

struct Work {
    std::vector<const Exchanger*> more, others;  // compute more than the mean of all, by kUneven; the rest
    double mean_ns = 0, least_wait_ns = std::numeric_limits<double>::infinity();

    static double mean_of(const std::vector<const Exchanger*>& some) {
        double sum_ns = 0;
        for (const Exchanger* one : some) sum_ns += one->compute_ns;
        return sum_ns / static_cast<double>(some.size());
    }
    double most_ns() const {
        double most_ns = 0;
        for (const Exchanger* one : more) most_ns = std::max(most_ns, one->compute_ns);
        return most_ns;
    }
    bool is_uneven() const {
        return !more.empty() && !others.empty() && most_ns() - mean_ns >= kFewerWaits * least_wait_ns;
    }
};

Work work_of(const std::vector<Exchanger>& all) {
    Work work;
    for (const Exchanger& one : all) {
        work.mean_ns += one.compute_ns / static_cast<double>(all.size());
        work.least_wait_ns = std::min(work.least_wait_ns, one.wait_ns);
    }
    for (const Exchanger& one : all)
        (one.compute_ns >= kUneven * work.mean_ns ? work.more : work.others).push_back(&one);
    return work;
}

// "rank 2", "rank 1 and rank 3", "rank 1 and 3 others"
std::string names_of(const std::vector<const Exchanger*>& some) {
    if (some.size() == 1) return some[0]->name;
    return some[0]->name + " and " +
           (some.size() == 2 ? some[1]->name : count_text(static_cast<int64_t>(some.size() - 1)) + " others");
}

constexpr Heading kUnevenHeading = {"uneven", "Ranks with more work than those that wait for their messages",
                                    "ranks wait for the messages of some that have more to do",
                                    "as much work for each"};

void say_uneven(const Situation& run, const Work& work, Finding& found) {
    found.heading = &kUnevenHeading;
    found.title = names_of(work.more) + (work.more.size() == 1 ? " computes " : " compute ") +
                  duration_text(Work::mean_of(work.more)) +
                  " of a step, and the others, which wait for messages, " +
                  duration_text(Work::mean_of(work.others)) + " on average";
    found.lead = "ranks wait for messages of " + names_of(work.more) +
                 (work.more.size() == 1 ? ", which has" : ", which have") + " more to do";
    found.try_it = run.advice({"message_waits.uneven"});
    std::map<int64_t, Gain> less;
    for (const Exchanger* one : work.more) {
        const double most_ns = one->compute_ns - work.mean_ns;
        less[one->gpu_id] = {kHalfMoved * most_ns, most_ns};
    }
    found.gain = run.what_if().shorter(less);
    found.confidence = 0.7;
}

void say_all_wait(const Situation& run, size_t ranks, const Work& work, Finding& found) {
    found.title =
        "each of " + count_text(static_cast<int64_t>(ranks)) + " ranks waits at least " +
        duration_text(work.least_wait_ns) +
        " of a step for messages of others: as in a pipeline that fills and empties, or where ranks "
        "are late by turns";
    if (!work.more.empty() && !work.others.empty())
        found.title += "; " + names_of(work.more) + (work.more.size() == 1 ? " computes " : " compute ") +
                       duration_text(Work::mean_of(work.more)) + ", the others " +
                       duration_text(Work::mean_of(work.others)) + " on average";
    found.try_it = run.advice({"message_waits"});
    found.gain = {0, std::min(kFewerWaits * work.least_wait_ns, run.step_ns())};
    found.confidence = 0.5;
}

std::optional<Finding> look(const Situation& run) {
    // GPUs that work one after another have a finding of their own.
    if (!run.has_steps() || sequential_index(run).value_or(0) >= kSequential) return {};
    const std::vector<Exchanger> all = exchangers_of(run);
    if (all.size() < 2) return {};
    const Work work = work_of(all);
    Finding found;
    if (work.is_uneven())
        say_uneven(run, work, found);
    else
        say_all_wait(run, all.size(), work, found);
    found.evidence = run.rows(
        "collective_stat", "SELECT rowid FROM collective_stat WHERE op = 'send' ORDER BY count DESC LIMIT 3");
    return found;
}

constexpr Heading kHeading = {"message-bound", "Ranks that wait for each other's messages",
                              "all ranks wait for messages of others",
                              "messages that come sooner: more micro-batches, or work that is more even"};
const RuleRegistration kRegistration({"message_waits", Scope::kManyGpus, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_message_waits
