// About ourselves: what of this run is known too little to trust the rest of the advice.
#include <cstdio>
#include <vector>

#include "../advice/evidence_limits.h"
#include "../advice/rule.h"
#include "../text/units.h"

namespace gpushim::analysis::rule_low_coverage {

namespace {

constexpr double kTimed = 0.001;     // of the run
constexpr double kMost = 0.9;        // of it: a larger share would tell no more
constexpr int64_t kFewestSteps = 5;  // timed from begin to end, of at least so many that there are

struct Doubt {
    std::string what, try_it;
    Evidence row;
};

std::string percent_of(double share) {
    char text[32];
    std::snprintf(text, sizeof text, share < 0.01 ? "%.2f %%" : "%.0f %%", share * 100);
    return text;
}

void doubt_coverage(const Situation& run, std::vector<Doubt>& doubts) {
    Query row = run.ask(
        "SELECT coalesce(w.coverage, g.coverage), g.rowid, w.coverage NOTNULL FROM gpu g"
        " LEFT JOIN step_work w ON w.gpu_id = g.gpu_id WHERE g.level <> 'host' AND g.coverage NOTNULL"
        " AND g.gpu_id NOT IN (SELECT gpu_id FROM v_unused_gpu)"
        " ORDER BY 1 LIMIT 1");
    if (row.step() && row.real(0) < kCovered)
        doubts.push_back(
            {percent_of(row.real(0)) + " of the operations in " +
                 (row.number(2) != 0 ? "steps" : "timed windows") + " have device times",
             "Run gpushim doctor --hooks to see which calls have none, such as graphs and other streams.",
             {"gpu", row.number(1)}});
}

void doubt_timed(const Situation& run, std::vector<Doubt>& doubts) {
    Query row = run.ask(
        "SELECT g.timed_share, g.rowid, (SELECT count(*) FROM gpu_step s WHERE s.gpu_id = g.gpu_id"
        " AND s.step >= 0), (SELECT count(*) FROM v_counted_step c WHERE c.rank_id = g.rank_id"
        " AND c.is_slice = 0), g.gpu_id IN (SELECT gpu_id FROM unlike_steps) FROM gpu g"
        " WHERE g.level <> 'host' AND g.timed_share IS NOT NULL"
        " AND g.gpu_id NOT IN (SELECT gpu_id FROM v_unused_gpu)"
        " ORDER BY g.gpu_id IN (SELECT gpu_id FROM unlike_steps) DESC, g.timed_share, g.gpu_id LIMIT 1");
    if (!row.step()) return;
    const bool few_steps =
        row.number(4) != 0 || (row.number(3) >= 2 * kFewestSteps && row.number(2) < kFewestSteps);
    if (row.real(0) >= kTimed && !few_steps) return;
    doubts.push_back({few_steps ? count_text(row.number(2)) + " of " + count_text(row.number(3)) +
                                      " steps were timed from beginning to end" +
                                      (row.number(4) != 0 ? ", and they are no sample of all" : "")
                                : percent_of(row.real(0)) + " of the run was timed",
                      row.real(0) >= kMost ? "Figures of GPUs are of the time that was timed, which is "
                                             "nearly all of the run."
                                           : "Trace a longer run, or allow a larger share: "
                                             "GPUSHIM_BUDGET=5%.",
                      {"gpu", row.number(1)}});
}

void doubt_drops(const Situation& run, std::vector<Doubt>& doubts) {
    Query row = run.ask(
        "SELECT d.reason, sum(d.events), min(d.rowid) FROM \"drop\" d WHERE d.events > 0 GROUP BY d.reason"
        " ORDER BY sum(d.events) DESC LIMIT 1");
    if (row.step())
        doubts.push_back({count_text(row.number(1)) + " events were dropped (" + row.text(0) + ")",
                          "Make room for them: a larger GPUSHIM_MAX_MB, or a faster disk for GPUSHIM_OUT.",
                          {"drop", row.number(2)}});
}

void doubt_cost(const Situation& run, std::vector<Doubt>& doubts) {
    Query row = run.ask(
        "SELECT own_cost_share, budget, rowid FROM rank WHERE own_cost_share > ?1 * budget AND budget > 0"
        " AND coalesce(last_ns - first_ns >= ?2, 1)"
        // One that was over at once stands for no other.
        " AND coalesce((last_ns - first_ns) * 10 >= (SELECT max(last_ns - first_ns) FROM rank), 1)"
        " ORDER BY own_cost_share / budget DESC LIMIT 1");
    row.bind(1, kOverBudget);
    row.bind(2, kLongEnoughForCost);
    if (row.step())
        doubts.push_back({"tracing took " + percent_of(row.real(0)) +
                              " of the busiest thread, more than its budget of " + percent_of(row.real(1)),
                          "Set GPUSHIM_DEVICE_TIME=off to record host times only, or GPUSHIM_STEPS to record "
                          "a part of the run.",
                          {"rank", row.number(2)}});
}

std::optional<Finding> look(const Situation& run) {
    std::vector<Doubt> doubts;
    for (const auto doubt : {doubt_coverage, doubt_timed, doubt_drops, doubt_cost}) doubt(run, doubts);
    if (doubts.empty()) return {};
    Finding found;
    found.kind = Kind::kNote;
    found.confidence = 1;
    for (const Doubt& doubt : doubts) {
        found.title += (found.title.empty() ? "" : "; ") + doubt.what;
        found.try_it += (found.try_it.empty() ? "" : " ") + doubt.try_it;
        found.evidence.push_back(doubt.row);
    }
    return found;
}

constexpr Heading kHeading = {"unknown", "What is known too little", "", ""};
const RuleRegistration kRegistration({"low_coverage", Scope::kOurselves, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_low_coverage
