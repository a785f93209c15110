#include "input_stages.h"

#include <cmath>

#include "../../sqlite/database.h"

namespace gpushim::analysis {

namespace {

LoadingStage stage_named(const std::string& name) {
    for (const LoadingStageRow& row : kLoadingStages)
        if (name == row.name) return row.stage;
    return LoadingStage::untold;
}

bool has_stages(sqlite3* run) {
    Query tables(run, "run",
                 "SELECT count(*) FROM sqlite_master WHERE name IN ('input_stage', 'v_input_stage')");
    return tables.step() && tables.number(0) == 2 &&
           Query(run, "run", "SELECT 1 FROM input_stage LIMIT 1").step();
}

}  // namespace

std::vector<InputStage> input_stages(sqlite3* run) {
    std::vector<InputStage> stages;
    if (!has_stages(run)) return stages;
    Query rows(
        run, "run",
        "SELECT stage, 1.0 * sum(ns) / nullif((SELECT sum(ns) FROM gap JOIN v_gpu_basis USING (gpu_id, step)"
        "   JOIN idle_cause USING (cause) WHERE cause_group = 'input'), 0) AS share"
        " FROM v_input_stage GROUP BY stage ORDER BY 2 DESC, 1");
    while (rows.step()) stages.push_back({stage_named(rows.text(0)), rows.real(1)});
    return stages;
}

std::string text_of(const std::vector<InputStage>& stages) {
    constexpr double kWorthAWord = 0.05;
    std::string text;
    double told = 0;
    const auto say = [&](const std::string& said, double share) {
        if (share >= kWorthAWord)
            text += (text.empty() ? "" : ", ") + said + " " + std::to_string(std::lround(100 * share)) + " %";
    };
    for (const InputStage& one : stages) {
        say(row_of(one.stage).said, one.share);
        told += one.share;
    }
    if (!text.empty()) say(row_of(LoadingStage::untold).said, 1 - told);
    return text;
}

}  // namespace gpushim::analysis
