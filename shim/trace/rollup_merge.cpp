#include "rollup_merge.h"

#include <algorithm>

#include "../base/time_units.h"

namespace gpushim::shim {
namespace {

// Each a multiple of the one before.
constexpr int64_t kDay = 24 * 3600;
constexpr int64_t kWidths[] = {1, 10, 60, 600, 3600, 6 * 3600, kDay, 8 * kDay, 64 * kDay, 512 * kDay};
constexpr int64_t kFineSeconds = 60;  // the newest stay as they are

// ?1, ?2, ?3: from, until and how long the coarse ones are. ?4: how many, those that come first.
constexpr const char* kSums =
    "INSERT INTO rollup SELECT ?1, series_id, ?3, sum(events), sum(calls), sum(sum_ns), min(min_ns),"
    " max(max_ns), sum(bytes), histogram_sum(histogram) FROM (SELECT * FROM rollup WHERE second > ?1"
    " AND second < ?2 ORDER BY second, series_id LIMIT ?4) WHERE true GROUP BY series_id"
    " ON CONFLICT (second, series_id) DO UPDATE SET seconds = excluded.seconds,"
    " events = events + excluded.events, calls = calls + excluded.calls,"
    " sum_ns = coalesce(sum_ns + excluded.sum_ns, sum_ns, excluded.sum_ns),"
    " min_ns = coalesce(min(min_ns, excluded.min_ns), min_ns, excluded.min_ns),"
    " max_ns = coalesce(max(max_ns, excluded.max_ns), max_ns, excluded.max_ns),"
    " bytes = coalesce(bytes + excluded.bytes, bytes, excluded.bytes),"
    " histogram = histogram_sum(histogram, excluded.histogram)";
constexpr const char* kRest =
    "DELETE FROM rollup WHERE (second, series_id) IN (SELECT second, series_id FROM rollup"
    " WHERE second > ?1 AND second < ?2 ORDER BY second, series_id LIMIT ?4)";

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
constexpr const char* kStepTable =
    "CREATE TEMP TABLE IF NOT EXISTS merged_step AS SELECT * FROM step_total LIMIT 0";
constexpr const char* kStepRest =
    "DELETE FROM step_total WHERE enter_ns >= ?1 AND enter_ns < ?2"
    " AND sum_ns IS NOT NULL AND (coalesce(thread_id, 0), source) IN"
    " (SELECT coalesce(thread_id, 0), source FROM temp.merged_step)";

// ?1: how many rows. The second is NULL where there are not twice as many.
constexpr const char* kSingleSteps =
    "SELECT s.enter_ns, (SELECT n.enter_ns FROM step_total n WHERE n.enter_ns >= s.enter_ns"
    " ORDER BY n.enter_ns LIMIT 1 OFFSET ?1) FROM step_total s WHERE s.steps = 1 AND EXISTS (SELECT 1 FROM"
    " step_total l WHERE l.enter_ns >= s.enter_ns LIMIT 1 OFFSET 2 * ?1) ORDER BY s.enter_ns LIMIT 1";

}  // namespace

RollupMerge::RollupMerge(Database& base, Samples& samples)
    : samples_(samples),
      extent_(base.prepare("SELECT min(second), max(second) FROM rollup")),
      level_(base.prepare("SELECT before_second FROM rollup_level WHERE seconds = ?")),
      level_row_(base.prepare("REPLACE INTO rollup_level VALUES (?, ?)")),
      changes_(base.prepare("SELECT changes()")),
      any_(base.prepare("SELECT 1 FROM rollup WHERE second > ?1 AND second < ?2 LIMIT 1")),
      there_(base.prepare("SELECT count(*) FROM rollup WHERE second = ?1")),
      sums_(base.prepare(kSums)),
      rest_(base.prepare(kRest)),
      width_(base.prepare("UPDATE rollup SET seconds = ?3 WHERE second = ?1 AND seconds < ?3")),
      nth_step_(base.prepare("SELECT enter_ns FROM step_total WHERE enter_ns >= ?1 AND enter_ns < ?2"
                             " ORDER BY enter_ns LIMIT 1 OFFSET ?3")),
      single_steps_(base.prepare(kSingleSteps)),
      step_ends_(base.prepare(kStepEnds)),
      step_table_(base.prepare(kStepTable)),
      step_sums_(base.prepare(kStepSums)),
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

RollupMerge::Span RollupMerge::next_of(size_t coarser) const {
    const Level& level = levels_[coarser];
    const int64_t from = level.before / level.seconds * level.seconds;
    return {from, from + level.seconds, level.seconds};
}

// Of which there are most spans; of those alike the finest.
std::optional<RollupMerge::Span> RollupMerge::most_crowded() const {
    std::optional<Span> found;
    int64_t most = 0;
    for (size_t coarser = 1; coarser < levels_.size(); ++coarser) {
        const Level& finer = levels_[coarser - 1];
        const int64_t spans = (finer.before - levels_[coarser].before) / finer.seconds;
        if (next_of(coarser).until > finer.before || spans <= most) continue;
        most = spans;
        found = next_of(coarser);
    }
    return found;
}

// The finest of which anything is there, as far as it is finished as the kind before.
std::optional<RollupMerge::Span> RollupMerge::begun_span() {
    for (size_t coarser = 1; coarser < levels_.size(); ++coarser) {
        Span span = next_of(coarser);
        span.until = std::min(span.until, levels_[0].before);
        const bool any = any_.bind(1, span.from).bind(2, span.until).step();
        if (any) any_.step();
        if (any) return span;
    }
    return {};
}

int64_t RollupMerge::run(Statement& statement, int64_t from, int64_t until) {
    statement.bind(1, from).bind(2, until).step();
    changes_.step();
    const int64_t rows = changes_.number(0);
    changes_.step();
    return rows;
}

int64_t RollupMerge::count_at(int64_t second) {
    there_.bind(1, second).step();
    const int64_t count = there_.number(0);
    there_.step();
    return count;
}

// False: there are more.
bool RollupMerge::merge_rollups(const Span& span, int64_t most_rows, Merged& merged) {
    const int64_t before = count_at(span.from);
    sums_.bind(3, span.seconds).bind(4, most_rows);
    run(sums_, span.from, span.until);
    rest_.bind(4, most_rows);
    const int64_t taken = run(rest_, span.from, span.until);
    merged.taken += taken;
    merged.freed += taken - (count_at(span.from) - before);
    if (taken == most_rows) return false;
    width_.bind(1, span.from).bind(3, span.seconds).step();
    return true;
}

bool RollupMerge::merge_steps(const Span& span, int64_t most_rows, Merged& merged) {
    if (under_way_ != span) steps_from_ns_ = span.from * kSecond;
    under_way_ = span;
    const int64_t end_ns = span.until * kSecond;
    nth_step_.bind(1, steps_from_ns_).bind(2, end_ns).bind(3, most_rows);
    const bool are_more = nth_step_.step();
    const int64_t until_ns = are_more ? nth_step_.number(0) : end_ns;
    if (are_more) nth_step_.step();
    const Merged steps = merge_steps(steps_from_ns_, until_ns);
    merged.taken += steps.taken;
    merged.freed += steps.freed;
    steps_from_ns_ = until_ns;
    return !are_more;
}

Merged RollupMerge::merge_steps(int64_t from_ns, int64_t until_ns) {
    run(step_ends_, from_ns, until_ns);
    step_table_.step();
    const int64_t made = run(step_sums_, from_ns, until_ns);
    const int64_t taken = run(step_rest_, from_ns, until_ns);
    step_rows_.step();
    no_steps_.step();
    return {taken, taken - made};
}

// From the oldest that are single, so many.
std::optional<Merged> RollupMerge::merge_oldest_steps(int64_t rows) {
    single_steps_.bind(1, rows);
    if (!single_steps_.step()) return {};
    const int64_t from_ns = single_steps_.number(0), until_ns = single_steps_.number(1);
    single_steps_.step();
    if (until_ns == kNull) return {};
    const Merged merged = merge_steps(from_ns, until_ns);
    return merged.freed > 0 ? std::optional(merged) : std::nullopt;
}

std::optional<Merged> RollupMerge::merge_some(int64_t most_rows, bool at_any_cost) {
    load_levels(at_any_cost ? 1 : kFineSeconds);
    Merged merged = {};
    if (const auto span = most_crowded()) {
        if (!merge_rollups(*span, most_rows, merged) || !merge_steps(*span, most_rows, merged)) return merged;
        samples_.thin_what_is_gone(span->from * kSecond, span->until * kSecond);
        level_row_.bind(1, span->seconds).bind(2, span->until).step();
        return merged;
    }
    const auto begun = at_any_cost ? begun_span() : std::nullopt;
    if (!begun) return {};
    merge_rollups(*begun, most_rows, merged);
    return merged;
}

}  // namespace gpushim::shim
