#include "step_lengths.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "../../sqlite/new_database.h"
#include "../../trace/work_bound.h"

namespace gpushim::analysis {

namespace {

StepLength length_of(std::vector<int64_t>& lengths_ns) {
    return {length_at(lengths_ns, 50), length_at(lengths_ns, 95), static_cast<int64_t>(lengths_ns.size()),
            std::accumulate(lengths_ns.begin(), lengths_ns.end(), int64_t{0})};
}

std::string row_of(const std::string& rank_id, const StepLength& length) {
    return "INSERT INTO temp.v_step_length VALUES (" + rank_id + ", " + std::to_string(length.median_ns) +
           ", " + std::to_string(length.p95_ns) + ");";
}

}  // namespace

int64_t length_at(std::vector<int64_t>& lengths_ns, size_t percent) {
    const size_t place = (lengths_ns.size() * percent + 99) / 100;
    const auto at = lengths_ns.begin() + static_cast<std::ptrdiff_t>(place - 1);
    std::nth_element(lengths_ns.begin(), at, lengths_ns.end());
    return *at;
}

StepLengths::StepLengths(sqlite3* run, std::span<const WrittenRank> written) {
    std::map<int64_t, std::vector<int64_t>> lengths_ns;
    std::vector<int64_t> all_ns;
    for (const WrittenRank& rank : written)
        for (const WrittenRank::Counted& step : rank.steps)
            if (!rank.are_slices) lengths_ns[rank.rank_id].push_back(step.dur_ns);
    if (written.empty()) {
        Query steps(run, file_of(run), "SELECT rank_id, dur_ns FROM v_counted_step WHERE is_slice = 0");
        while (steps.step()) lengths_ns[steps.number(0)].push_back(steps.number(1));
    }
    for (auto& [rank_id, of_it_ns] : lengths_ns) {
        all_ns.insert(all_ns.end(), of_it_ns.begin(), of_it_ns.end());
        of_rank_[rank_id] = length_of(of_it_ns);
    }
    if (!all_ns.empty()) of_run_ = length_of(all_ns);
}

void StepLengths::stand_before_views(const NewDatabase& run) const {
    run.run(
        "CREATE TEMP TABLE v_step_length AS SELECT * FROM main.v_step_length WHERE 0;"
        "CREATE TEMP TABLE v_step_sum AS SELECT * FROM main.v_step_sum WHERE 0");
    std::string rows =
        of_run_ ? row_of("NULL", *of_run_) : "INSERT INTO temp.v_step_length VALUES (NULL, NULL, NULL);";
    for (const auto& [rank_id, length] : of_rank_) {
        const std::string rank = std::to_string(rank_id);
        rows += row_of(rank, length);
        rows += "INSERT INTO temp.v_step_sum VALUES (" + rank + ", " + std::to_string(length.steps) + ", " +
                std::to_string(length.sum_ns) + ");";
    }
    run.run(rows);
}

void StepLengths::leave_to_views(const NewDatabase& run) {
    run.run("DROP TABLE temp.v_step_length; DROP TABLE temp.v_step_sum");
}

}  // namespace gpushim::analysis
