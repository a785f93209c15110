// Ranks wait for each other by turns: now one has more to do, now another, so no rank is a straggler, and all
// of them lose time.
//
//   rank 0   ████████▒▒▒▒|██████████████|       ▒: waits. With as much work for each in each step both
//   rank 1   ████████████|████████▒▒▒▒▒▒|       would be done earlier
#include <algorithm>
#include <limits>
#include <string>

#include "../advice/rule.h"
#include "../text/units.h"

namespace gpushim::analysis::rule_uneven_work {

namespace {

// Of a mean step, in which nothing else runs: on the GPU of the communicator's that has least of it.
double least_exposed_ns(const Situation& run, const std::string& comm) {
    double least_ns = std::numeric_limits<double>::infinity();
    Query gpus =
        run.ask("SELECT u.gpu_id FROM skew_rank r JOIN gpu u ON u.rank_id = r.rank_id WHERE r.comm = ?1");
    gpus.bind(1, comm);
    while (gpus.step()) {
        const GpuTotal* total = run.basis().total_of(gpus.number(0));
        if (total != nullptr && total->steps > 0 && total->ns(WhatRan::window) > 0)
            least_ns = std::min(least_ns,
                                total->real(WhatRan::waiting_for_peer) / static_cast<double>(total->steps));
    }
    return least_ns;
}

// What is left for the rank that waits least is nobody's alone; the rest is the straggler's, if there is one.
std::optional<Finding> look(const Situation& run) {
    if (!run.has_steps()) return {};
    Query row = run.ask(
        "SELECT s.rowid, count(*), min(r.wait_ns) * 1.0 / s.steps AS ns, s.straggler_rank IS NULL, s.comm"
        " FROM skew s JOIN skew_rank r USING (comm)"
        " WHERE s.steps > 0 GROUP BY s.comm HAVING count(*) > 1 AND count(r.wait_ns) = count(*)"
        " ORDER BY ns DESC, s.comm LIMIT 1");
    if (!row.step()) return {};
    const double ns = std::min(row.real(2), least_exposed_ns(run, row.text(4)));
    if (ns <= 0) return {};
    Finding found;
    found.title =
        "each of " + count_text(row.number(1)) + " ranks waits for the others, at least " +
        duration_text(ns) + " of a step" +
        (row.number(3) != 0 ? ", and none is always the last" : ", beside what the straggler costs");
    found.try_it = run.advice({"uneven_work"});
    found.gain = {0, ns};
    found.confidence = 0.6;
    found.evidence = {{"skew", row.number(0)}};
    return found;
}

constexpr Heading kHeading = {"uneven", "Ranks that wait for each other by turns",
                              "ranks wait for each other, and none is always the last",
                              "as much work for each rank in each step"};
const RuleRegistration kRegistration({"uneven_work", Scope::kManyGpus, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_uneven_work
