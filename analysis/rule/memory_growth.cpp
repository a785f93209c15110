// The program holds more device memory from step to step, and goes on so until there is none: results that
// are kept with all that they were computed from, a cache without a bound. It costs no time before it ends
// the run, so this is a note.
#include <algorithm>
#include <optional>

#include "../advice/rule.h"
#include "../text/units.h"
#include "../to_int64.h"

namespace gpushim::analysis::rule_memory_growth {

namespace {

constexpr int64_t kFewestSteps = 20;
constexpr double kSteady = 0.5;    // of the growth in one quarter, at least so much is in the next
constexpr double kWorthIt = 0.01;  // of the GPU's memory, in the second half of the steps

struct Growth {
    int64_t gpu_id = 0, steps = 0;
    double total_bytes = 0;
    double second = 0, third = 0, fourth = 0;  // held on average in these quarters of the steps' time

    double grown() const { return fourth - second; }
    double a_step() const { return grown() / (static_cast<double>(steps) / 2); }
    bool is_steady() const {
        const double before = third - second, after = fourth - third;
        return before > 0 && after > 0 && std::min(before, after) >= kSteady * std::max(before, after) &&
               grown() >= kWorthIt * total_bytes;
    }
};

// Warm-up is in the first quarter, in which everything grows.
constexpr const char* kQuarters = R"sql(
WITH span AS (
  SELECT rank_id, count(*) AS steps, min(begin_ns) AS low, max(begin_ns + dur_ns) AS high
  FROM v_counted_step WHERE is_slice = 0 GROUP BY rank_id HAVING count(*) >= ?1),
quarter AS (
  SELECT c.gpu_id, s.steps, g.memory_total_bytes AS total, (c.from_ns - s.low) * 4 / (s.high - s.low) AS nth,
    c.mean
  FROM gpu_curve c JOIN gpu g ON g.gpu_id = c.gpu_id JOIN span s ON s.rank_id = g.rank_id
  WHERE c.what = 'allocated_bytes' AND g.memory_total_bytes > 0 AND c.from_ns >= s.low AND c.from_ns < s.high)
SELECT gpu_id, steps, total, avg(CASE WHEN nth = 1 THEN mean END), avg(CASE WHEN nth = 2 THEN mean END),
  avg(CASE WHEN nth = 3 THEN mean END)
FROM quarter GROUP BY gpu_id, steps, total)sql";

std::optional<Growth> fastest(const Situation& run) {
    std::optional<Growth> most;
    Query row = run.ask(kQuarters);
    row.bind(1, kFewestSteps);
    while (row.step()) {
        if (row.is_null(3) || row.is_null(4) || row.is_null(5)) continue;
        const Growth one = {row.number(0), row.number(1), row.real(2), row.real(3), row.real(4), row.real(5)};
        if (one.is_steady() && (!most || one.a_step() > most->a_step())) most = one;
    }
    return most;
}

std::optional<Finding> look(const Situation& run) {
    const auto most = fastest(run);
    if (!most) return {};
    // From the middle of the last quarter, in which it held that on average.
    const double left =
        (most->total_bytes - most->fourth) / most->a_step() - static_cast<double>(most->steps) / 8;
    Finding found;
    found.title =
        "the program holds " + memory_text(most->a_step()) +
        " more device memory after each step: " + memory_text(most->grown()) +
        " more in the last quarter than in the second" +
        (left > 0 ? ", and all there is after about " + count_text(to_int64(left)) + " more steps" : "");
    found.try_it = run.advice({"memory_growth"});
    found.confidence = 0.7;
    found.kind = Kind::kNote;
    Query row = run.ask(
        "SELECT rowid FROM gpu_curve WHERE gpu_id = ?1 AND what = 'allocated_bytes' ORDER BY from_ns DESC"
        " LIMIT 1");
    row.bind(1, most->gpu_id);
    if (row.step()) found.evidence = {{"gpu_curve", row.number(0)}};
    return found;
}

constexpr Heading kHeading = {"growing memory", "Memory that grows from step to step", "", ""};
const RuleRegistration kRegistration({"memory_growth", Scope::kOneGpu, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_memory_growth
