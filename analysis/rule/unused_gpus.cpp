// A process made a context on a GPU and ran nothing there in its steps, but for less than a hundredth of the
// run: all that it needs there is memory. Or a process has no steps at all, and keeps a GPU from others. It
// costs no time of this run, so this is a note.
#include <utility>

#include "../advice/rule.h"
#include "../text/units.h"

namespace gpushim::analysis::rule_unused_gpus {

namespace {

constexpr int64_t kFewestSteps = 5;  // of a part of a run nobody knows what runs in the rest
constexpr double kNothing = 0.01;    // of the run, busy

std::string title_of(int64_t processes, int64_t of_processes, int64_t gpus, int64_t of_gpus) {
    if (of_processes == 1)
        return "the program has contexts on " + count_text(of_gpus) + " GPUs, and ran nothing in steps on " +
               (gpus == 1 ? "one" : count_text(gpus)) + " of them";
    return count_text(processes) + " of " + count_text(of_processes) + " processes " +
           (processes == 1 ? "has a context on a GPU on which it" : "have a context on a GPU on which they") +
           " ran nothing in steps";
}

Finding note(std::string title, std::string try_it, int64_t gpu) {
    Finding found;
    found.title = std::move(title);
    found.try_it = std::move(try_it);
    found.confidence = 0.8;
    found.kind = Kind::kNote;
    found.evidence = {{"gpu", gpu}};
    return found;
}

constexpr Heading kNoSteps = {"unused GPUs", "A GPU whose process has no steps", "", ""};

// A process that only logs, or waits for the others to end, has a GPU all the same.
std::optional<Finding> without_steps(const Situation& run) {
    if (!run.number("SELECT 1 FROM v_gpu_beside_steps LIMIT 1")) return {};  // counting steps takes longer
    Query row = run.ask(
        "SELECT count(DISTINCT r.rank_id), (SELECT count(*) FROM rank), min(r.rank), min(b.gpu_id)"
        " FROM v_gpu_beside_steps b JOIN rank r ON r.rank_id = b.rank_id WHERE ?1 <="
        " (SELECT count(DISTINCT c.number) FROM v_counted_step c WHERE c.is_slice = 0)");
    row.bind(1, kFewestSteps);
    if (!row.step() || row.number(0) == 0) return {};
    const int64_t processes = row.number(0);
    const bool is_one = processes == 1;
    Finding found =
        note(count_text(processes) + " of " + count_text(row.number(1)) + " processes" +
                 (is_one && !row.is_null(2) ? " (rank " + count_text(row.number(2)) + ")" : "") +
                 (is_one ? " has no steps, and kept its GPU" : " have no steps, and kept their GPUs") +
                 " busy for less than 1 % of the run",
             run.advice({"unused_gpus.no_steps"}), row.number(3));
    found.heading = &kNoSteps;
    return found;
}

std::optional<Finding> of_contexts(const Situation& run) {
    Query row = run.ask(
        "SELECT count(DISTINCT g.rank_id), (SELECT count(*) FROM rank), count(*),"
        " (SELECT count(*) FROM gpu), min(g.gpu_id) FROM v_unused_gpu u JOIN gpu g ON g.gpu_id = u.gpu_id"
        " WHERE coalesce(g.busy_share, g.busy_share_high, 1) < ?1 AND ?2 <="
        " (SELECT count(*) FROM v_counted_step c WHERE c.rank_id = g.rank_id AND c.is_slice = 0)");
    row.bind(1, kNothing);
    row.bind(2, kFewestSteps);
    if (!row.step() || row.number(2) == 0) return {};
    return note(title_of(row.number(0), row.number(1), row.number(2), row.number(3)),
                run.advice({"unused_gpus"}), row.number(4));
}

// A server's front end has no steps, and its engine is another process.
std::optional<Finding> look(const Situation& run) {
    auto contexts = of_contexts(run);
    auto idle = run.serving().is_so() ? std::nullopt : without_steps(run);
    if (contexts && idle) contexts->title += "; " + idle->title;
    return contexts ? contexts : idle;
}

constexpr Heading kHeading = {"unused GPUs", "A context on a GPU that is not used", "", ""};
const RuleRegistration kRegistration({"unused_gpus", Scope::kOneGpu, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_unused_gpus
