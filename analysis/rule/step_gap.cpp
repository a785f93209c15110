// The host does something else between or in steps (callbacks, metrics, logging, checkpoints, Python), in
// every step or in every n-th, and the GPU waits for it.
#include "../advice/rule.h"
#include "../text/units.h"

namespace gpushim::analysis {

namespace {

constexpr double kRare = 0.5;  // of the steps; where fewer have such a gap, they are named

// How many steps have most of it, and the one with the longest gap.
struct Where {
    int64_t steps = 0, all = 0, number = 0;
    double longest_ns = 0;
};

Where where_of(const Situation& run) {
    Where where;
    Query row = run.ask(
        "SELECT b.number, sum(CASE WHEN c.cause_group = 'host' THEN p.ns ELSE 0 END) FROM v_gpu_basis b"
        " LEFT JOIN gap p ON p.gpu_id = b.gpu_id AND p.step = b.step LEFT JOIN idle_cause c ON c.cause = "
        "p.cause"
        " GROUP BY b.gpu_id, b.step, b.number ORDER BY 2 DESC");
    while (row.step()) {
        if (where.all++ == 0) {
            where.longest_ns = row.real(1);
            where.number = row.number(0);
        }
        if (row.real(1) * 4 >= where.longest_ns) ++where.steps;
    }
    return where;
}

std::optional<Finding> look(const Situation& run) {
    const double idle_ns = run.what_if().idle_ns({"host_cpu", "host_blocked", "host_unknown"});
    if (idle_ns <= 0) return {};
    const Where where = where_of(run);
    Finding found;
    found.title = "the GPU is idle " + duration_text(idle_ns) + " of a " + run.per() +
                  " while the host does something else";
    if (run.has_steps() && static_cast<double>(where.steps) < kRare * static_cast<double>(where.all))
        found.title += ", most of it in " + count_text(where.steps) + " of " + count_text(where.all) +
                       " steps; the longest, " + duration_text(where.longest_ns) + ", between steps " +
                       count_text(where.number) + " and " + count_text(where.number + 1);
    found.try_it =
        "callbacks, metrics, logging and checkpoints every 100 steps, not in each, or in another"
        " thread; steps_per_execution in Keras; gc.disable() and gc.collect() every n steps;"
        " py-spy or NVTX ranges tell what it is";
    found.gain = run.what_if().without({"host_cpu", "host_blocked", "host_unknown"});
    found.confidence = 0.7;
    found.evidence = run.gaps_of({"host_cpu", "host_blocked", "host_unknown"});
    return found;
}

const RuleRegistration kRegistration({"step_gap", Scope::kOneGpu, look});

}  // namespace

}  // namespace gpushim::analysis
