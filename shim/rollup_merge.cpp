#include "rollup_merge.h"

namespace gpushim::shim {
namespace {

constexpr int64_t kWidths[] = {1,    10,       60,       600,
                               3600, 6 * 3600, 24 * 3600};  // each a multiple of the one before
constexpr int64_t kFineSeconds = 60;                        // the newest stay as they are
constexpr size_t kNone = 0;
constexpr int64_t kSecondNs = 1'000'000'000;

constexpr const char* kSums =
    "REPLACE INTO rollup SELECT ?1, series_id, ?3, sum(events), sum(calls), sum(sum_ns), min(min_ns),"
    " max(max_ns), sum(bytes), histogram_sum(histogram) FROM rollup WHERE second >= ?1 AND second < ?2"
    " GROUP BY series_id";

// A step whose end is not known yet stays alone.
constexpr const char* kStepEnds =
    "UPDATE step_total SET (sum_ns, min_ns, max_ns) = (SELECT n.enter_ns - step_total.enter_ns,"
    " n.enter_ns - step_total.enter_ns, n.enter_ns - step_total.enter_ns FROM step_total n"
    " WHERE n.enter_ns > step_total.enter_ns AND n.thread_id IS step_total.thread_id"
    " AND n.source = step_total.source ORDER BY n.enter_ns LIMIT 1)"
    " WHERE enter_ns >= ?1 AND enter_ns < ?2 AND sum_ns IS NULL";
constexpr const char* kStepSums =
    "INSERT INTO temp.merged_step SELECT min(enter_ns), thread_id, source, sum(steps), sum(samples),"
    " sum(sum_ns), min(min_ns), max(max_ns), histogram_sum(coalesce(histogram, histogram_of(sum_ns)))"
    " FROM step_total WHERE enter_ns >= ?1 AND enter_ns < ?2 AND sum_ns IS NOT NULL"
    " GROUP BY thread_id, source HAVING count(*) > 1";
constexpr const char* kStepRest =
    "DELETE FROM step_total WHERE enter_ns >= ?1 AND enter_ns < ?2"
    " AND sum_ns IS NOT NULL AND (coalesce(thread_id, 0), source) IN"
    " (SELECT coalesce(thread_id, 0), source FROM temp.merged_step)";

// ?1: how many rows. The second is NULL where there are not twice as many.
constexpr const char* kSingleSteps =
    "SELECT s.enter_ns, (SELECT n.enter_ns FROM step_total n WHERE n.enter_ns >= s.enter_ns"
    " ORDER BY n.enter_ns LIMIT 1 OFFSET ?1) FROM step_total s WHERE s.steps = 1 AND EXISTS (SELECT 1 FROM"
    " step_total l WHERE l.enter_ns >= s.enter_ns LIMIT 1 OFFSET 2 * ?1) ORDER BY s.enter_ns LIMIT 1";

Statement prepared_with_table(Database& base, const char* sql) {
    base.run("CREATE TEMP TABLE IF NOT EXISTS merged_step AS SELECT * FROM step_total LIMIT 0");
    return base.prepare(sql);
}

}  // namespace

RollupMerge::RollupMerge(Database& base, Samples& samples)
    : samples_(samples),
      extent_(base.prepare("SELECT min(second), max(second) FROM rollup")),
      level_(base.prepare("SELECT before_second FROM rollup_level WHERE seconds = ?")),
      level_row_(base.prepare("REPLACE INTO rollup_level VALUES (?, ?)")),
      changes_(base.prepare("SELECT changes()")),
      there_(base.prepare("SELECT count(*) FROM rollup WHERE second >= ?1 AND second < ?2")),
      sums_(base.prepare(kSums)),
      rest_(base.prepare("DELETE FROM rollup WHERE second > ?1 AND second < ?2")),
      single_steps_(base.prepare(kSingleSteps)),
      step_ends_(base.prepare(kStepEnds)),
      step_sums_(prepared_with_table(base, kStepSums)),
      step_rest_(base.prepare(kStepRest)),
      step_rows_(base.prepare("INSERT INTO step_total SELECT * FROM temp.merged_step")),
      no_steps_(base.prepare("DELETE FROM temp.merged_step")) {}

// The finest level begins where the newest minute does.
void RollupMerge::load_levels(int64_t fine_seconds) {
    levels_.clear();
    if (!extent_.step()) return;
    const int64_t oldest = extent_.number(0), newest = extent_.number(1);
    extent_.step();
    if (oldest == kNull) return;
    for (const int64_t seconds : kWidths) {
        int64_t before = seconds == 1 ? newest + 1 - fine_seconds : oldest;
        level_.bind(1, seconds);
        if (level_.step()) {
            before = level_.number(0);
            level_.step();
        }
        levels_.push_back({seconds, before});
    }
}

int64_t RollupMerge::begin_of_next(size_t coarser) const {
    const Level& level = levels_[coarser];
    return level.before / level.seconds * level.seconds;
}

int64_t RollupMerge::end_of_next(size_t coarser) const {
    return begin_of_next(coarser) + levels_[coarser].seconds;
}

// Of which there are most spans; of those alike the finest.
size_t RollupMerge::most_crowded() const {
    size_t found = kNone;
    int64_t most = 0;
    for (size_t coarser = 1; coarser < levels_.size(); ++coarser) {
        const Level& finer = levels_[coarser - 1];
        const int64_t spans = (finer.before - levels_[coarser].before) / finer.seconds;
        if (end_of_next(coarser) > finer.before || spans <= most) continue;
        most = spans;
        found = coarser;
    }
    return found;
}

int64_t RollupMerge::run(Statement& statement, int64_t from, int64_t until) {
    statement.bind(1, from).bind(2, until).step();
    changes_.step();
    const int64_t rows = changes_.number(0);
    changes_.step();
    return rows;
}

int64_t RollupMerge::merge(int64_t from, int64_t until, int64_t seconds) {
    there_.bind(1, from).bind(2, until).step();
    const int64_t there = there_.number(0);
    there_.step();
    sums_.bind(3, seconds);
    const int64_t made = run(sums_, from, until);
    run(rest_, from, until);
    samples_.thin_what_is_gone(from * kSecondNs, until * kSecondNs);
    return there - made + merge_steps(from * kSecondNs, until * kSecondNs);
}

int64_t RollupMerge::merge_steps(int64_t from_ns, int64_t until_ns) {
    run(step_ends_, from_ns, until_ns);
    const int64_t made = run(step_sums_, from_ns, until_ns);
    const int64_t freed = run(step_rest_, from_ns, until_ns);
    step_rows_.step();
    no_steps_.step();
    return freed - made;
}

// From the oldest that are single, so many.
std::optional<int64_t> RollupMerge::merge_oldest_steps(int64_t rows) {
    single_steps_.bind(1, rows);
    if (!single_steps_.step()) return {};
    const int64_t from_ns = single_steps_.number(0), until_ns = single_steps_.number(1);
    single_steps_.step();
    if (until_ns == kNull) return {};
    const int64_t freed = merge_steps(from_ns, until_ns);
    return freed > 0 ? std::optional(freed) : std::nullopt;
}

std::optional<int64_t> RollupMerge::merge_some(bool at_any_cost) {
    load_levels(at_any_cost ? 1 : kFineSeconds);
    const size_t coarser = most_crowded();
    if (coarser == kNone) return {};
    const int64_t from = begin_of_next(coarser), until = end_of_next(coarser);
    const int64_t seconds = levels_[coarser].seconds;
    level_row_.bind(1, seconds).bind(2, until).step();
    return merge(from, until, seconds);
}

}  // namespace gpushim::shim
