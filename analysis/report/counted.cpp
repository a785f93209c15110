#include "counted.h"

#include <algorithm>
#include <string>
#include <utility>

namespace gpushim::analysis {

namespace {

// A file that is only read may have tables of its connection beside it all the same. Another source of this
// connection may have made some.
CountedSteps stood_before_views(const Database& run) {
    run.run("PRAGMA temp_store = MEMORY");
    run.run("PRAGMA query_only = OFF");
    for (const char* view : {"v_run_steps", "v_gpu_total", "v_gpu_idle"})
        run.run(std::string("DROP TABLE IF EXISTS temp.") + view);
    // A row for each rank. A view that somebody made has as many as they like, and this table is in memory.
    run.run(
        "CREATE TEMP TABLE v_run_steps AS SELECT rank_id + 0 AS rank_id, steps + 0 AS steps,"
        " whole_steps + 0 AS whole_steps, recorded_steps + 0 AS recorded_steps FROM main.v_run_steps"
        " LIMIT (SELECT count(*) FROM main.rank)");
    CountedSteps counted(run.raw());
    counted.stand_before_views(run.raw());
    run.run("PRAGMA query_only = ON");
    return counted;
}

}  // namespace

std::shared_ptr<const CountedSteps> counted_steps(const ReportSource& source) {
    if (!source.asked_counted)
        source.asked_counted = std::make_shared<const CountedSteps>(stood_before_views(source.run));
    return source.asked_counted;
}

std::shared_ptr<const CountedSteps> counted_steps_asked_for(const ReportSource& source) {
    if (!source.is_part_of_run()) return counted_steps(source);
    if (!source.asked_counted_part) {
        const StepNumbers asked = {source.first_step(), source.last_step()};
        source.asked_counted_part = std::make_shared<const CountedSteps>(source.run.raw(), asked);
    }
    return source.asked_counted_part;
}

const CountedLengths::Length* CountedLengths::find(int64_t rank_id, int64_t step) const {
    const auto is_before = [](const Length& one, const std::pair<int64_t, int64_t>& asked) {
        return std::pair(one.rank_id, one.step) < asked;
    };
    const auto found = std::lower_bound(all.begin(), all.end(), std::pair(rank_id, step), is_before);
    return found != all.end() && found->rank_id == rank_id && found->step == step ? &*found : nullptr;
}

const CountedLengths& counted_lengths(const ReportSource& source) {
    if (source.asked_lengths) return *source.asked_lengths;
    CountedLengths lengths;
    Query steps = source.of_steps(
        "SELECT rank_id, step, number, dur_ns FROM v_counted_step WHERE is_slice = 0 AND number BETWEEN ?1"
        " AND ?2 ORDER BY rank_id, step");
    while (steps.step())
        lengths.all.push_back({steps.number(0), steps.number(1), steps.number(2), steps.number(3)});
    source.asked_lengths = std::make_shared<const CountedLengths>(std::move(lengths));
    return *source.asked_lengths;
}

}  // namespace gpushim::analysis
