// Ranks wait for each other's messages: stages of a pipeline, or parts of a grid. One has more to do than the
// others, or all have as much and the pipeline has to fill and to empty.
//
//   rank 0  ██▒▒██▒▒██▒▒    ▒: waits for rank 1, which      rank 0  ██ ██ ▒▒ ▒▒ ██ ██   two micro-batches:
//   each rank 1  ▒▒██████████    has twice as much to do         rank 1  ▒▒ ██ ██ ██ ██ ▒▒   waits for a
//   third
#include <algorithm>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "../text/units.h"
#include "timed_gpus.h"

namespace gpushim::analysis::rule_message_waits {

namespace {

constexpr double kMostly = 0.5;       // of the ranks' waits
constexpr double kUneven = 1.1;       // times the mean of the others
constexpr double kFewerWaits = 0.75;  // of what fills and empties, with four times as many micro-batches
constexpr double kHalfMoved = 0.5;    // of the excess: layers and tables move as a whole

struct Exchanger {
    int64_t gpu_id;
    std::string name;
    double compute_ns = 0, wait_ns = 0;  // of a mean step
};

// A process with several GPUs hands over by copies or by all of its communicators: what of that is whose wait
// is not told.
std::vector<Exchanger> exchangers_of(const Situation& run) {
    std::vector<Exchanger> all;
    double of_messages_ns = 0, of_all_ns = 0;
    Query row = run.ask(
        "SELECT u.gpu_id, coalesce(r.rank, u.rank_id), total(iif(i.op = 'send', i.wait_ns, 0)),"
        " total(i.wait_ns) FROM collective_instance i"
        " JOIN v_counted_step s ON s.rank_id = i.rank_id AND s.step = i.step JOIN gpu u ON u.gpu_id = "
        "i.gpu_id"
        " JOIN rank r ON r.rank_id = u.rank_id GROUP BY u.gpu_id ORDER BY u.gpu_id");
    while (row.step()) {
        of_messages_ns += row.real(2);
        of_all_ns += row.real(3);
        const GpuTotal* total = run.basis().total_of(row.number(0));
        if (total == nullptr || total->steps <= 0 || total->ns(WhatRan::window) <= 0) return {};
        all.push_back({row.number(0), "rank " + std::to_string(row.number(1)),
                       timed_gpu(run, row.number(0)).compute_ns,
                       total->real(WhatRan::waiting_for_peer) / static_cast<double>(total->steps)});
    }
    return of_messages_ns > kMostly * of_all_ns ? all : std::vector<Exchanger>();
}

struct Work {
    const Exchanger* busiest;
    double mean_ns, others_ns;  // of computing: all, and all but the busiest
    double least_wait_ns;
    double excess_ns() const { return busiest->compute_ns - mean_ns; }
    bool is_uneven() const {
        return busiest->compute_ns >= kUneven * others_ns && excess_ns() >= kFewerWaits * least_wait_ns;
    }
};

Work work_of(const std::vector<Exchanger>& all) {
    Work work = {&all.front(), 0, 0, std::numeric_limits<double>::infinity()};
    double sum_ns = 0;
    for (const Exchanger& one : all) {
        if (one.compute_ns > work.busiest->compute_ns) work.busiest = &one;
        sum_ns += one.compute_ns;
        work.least_wait_ns = std::min(work.least_wait_ns, one.wait_ns);
    }
    work.mean_ns = sum_ns / static_cast<double>(all.size());
    work.others_ns = (sum_ns - work.busiest->compute_ns) / static_cast<double>(all.size() - 1);
    return work;
}

constexpr Heading kUnevenHeading = {"uneven", "A rank with more work than those that wait for its messages",
                                    "ranks wait for the messages of one that has more to do",
                                    "as much work for each"};

void say_uneven(const Situation& run, const Work& work, Finding& found) {
    found.heading = &kUnevenHeading;
    found.title = work.busiest->name + " computes " + duration_text(work.busiest->compute_ns) +
                  " of a step, and the others, which wait for its messages, " +
                  duration_text(work.others_ns) + " on average";
    found.lead = "ranks wait for the messages of " + work.busiest->name + ", which has more to do";
    found.try_it = run.advice({"message_waits.uneven"});
    const double most_ns = work.excess_ns();
    found.gain = run.what_if().shorter({{work.busiest->gpu_id, {kHalfMoved * most_ns, most_ns}}});
    found.confidence = 0.7;
}

void say_pipeline(const Situation& run, size_t ranks, const Work& work, Finding& found) {
    found.title =
        "each of " + count_text(static_cast<int64_t>(ranks)) + " ranks waits at least " +
        duration_text(work.least_wait_ns) +
        " of a step for messages of others, though none has much more to do, as in a pipeline that fills "
        "and empties";
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
        say_pipeline(run, all.size(), work, found);
    found.evidence = run.rows(
        "collective_stat", "SELECT rowid FROM collective_stat WHERE op = 'send' ORDER BY count DESC LIMIT 3");
    return found;
}

constexpr Heading kHeading = {"pipeline-bound", "Ranks that wait for each other's messages",
                              "all ranks wait for messages of others",
                              "more micro-batches, or several stages on each rank"};
const RuleRegistration kRegistration({"message_waits", Scope::kManyGpus, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_message_waits
