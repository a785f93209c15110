#include "all_steps.h"

#include <cmath>

#include "../text/units.h"
#include "../to_int64.h"

namespace gpushim::analysis {

std::string AllSteps::differing_text() const {
    constexpr double kFelt = 0.01;
    const int64_t whole = to_int64(std::round(all));
    if (with_others && all - static_cast<double>(counted) > kFelt * all) return "mean with evaluations";
    if (std::abs(all - static_cast<double>(whole)) > kFelt * all) {
        const int64_t tenths = to_int64(std::round(all * 10));
        return "mean of " + count_text(tenths / 10) + "." + std::to_string(tenths % 10) + " steps' work";
    }
    return whole != counted ? "mean of all " + count_text(whole) + " steps" : "";
}

namespace {

std::optional<AllSteps> steps_by(const Database& run, const std::string& amount) {
    Query row = run.prepare(
        "SELECT (SELECT sum(" + amount +
        ") / count(*) FROM v_run_steps s JOIN gpu u ON u.rank_id = s.rank_id),"
        " (SELECT CAST(count(*) AS DOUBLE) / (SELECT count(*) FROM gpu) FROM v_counted_step c JOIN gpu u ON"
        "  u.rank_id = c.rank_id WHERE c.is_slice = 0),"
        " EXISTS (SELECT 1 FROM v_recorded_step WHERE no_step)");
    if (!row.step() || row.is_null(0) || row.is_null(1)) return {};
    return AllSteps{row.real(0), to_int64(std::round(row.real(1))), row.number(2) != 0};
}

}  // namespace

std::optional<AllSteps> all_steps(const Database& run) { return steps_by(run, "s.whole_steps"); }

std::optional<AllSteps> steps_of_kernels(const Database& run) {
    return steps_by(run, "coalesce(s.recorded_steps, s.whole_steps)");
}

}  // namespace gpushim::analysis
