#include "kept_step.h"

#include <algorithm>
#include <set>

#include "../report/gpu_label.h"
#include "time_parts.h"

namespace gpushim::analysis {

namespace {

constexpr double kWorthSaying = 1.01;  // times the least: below, no rank stands out

bool is_known_of_all(const std::vector<RankInStep>& ranks) {
    return ranks.size() > 1 && std::all_of(ranks.begin(), ranks.end(), [](const RankInStep& rank) {
               return rank.own_work_ns.has_value();
           });
}

bool has_less_work(const RankInStep& a, const RankInStep& b) { return a.own_work_ns < b.own_work_ns; }

RankInStep rank_of(const ReportSource& source, const Query& row) {
    RankInStep rank;
    rank.rank_id = row.number(2);
    rank.step = row.number(3);
    rank.number = row.number(4);
    rank.offset_ns = plausible_time(row.number(7));
    rank.begin_ns = rank.here(row.number(5));
    rank.dur_ns = plausible_span(row.number(6));
    rank.left_out = row.number(8);
    rank.rank = row.text(9);
    rank.host = source.name("host", row.text(10));
    rank.clock = row.text(11);
    rank.step_by = row.text(12);
    rank.clock_error_ns = row.maybe(13);
    rank.own_work_ns = row.maybe(14);
    rank.is_straggler = row.number(15) != 0;
    if (row.text(0) == "excerpt") {
        rank.is_excerpt = true;
        rank.begin_ns = plausible_time(row.number(18));
        rank.dur_ns = std::max<int64_t>(plausible_span(plausible_time(row.number(19)) - rank.begin_ns), 1);
    }
    rank.first_ns = rank.here(row.number(16));
    rank.last_ns = rank.here(row.number(17));
    return rank;
}

// Where nothing tells how long a rank waited for others, its own work would be all of the step.
void forget_untold_work(const ReportSource& source, std::vector<KeptStep>& steps) {
    std::set<int64_t> untold;
    const auto labels = gpu_labels(source.run);
    for (const auto& [gpu_id, why] : unknown_waits(source.run))
        if (labels.contains(gpu_id)) untold.insert(labels.at(gpu_id).rank_id);
    for (KeptStep& step : steps)
        for (RankInStep& rank : step.ranks)
            if (untold.contains(rank.rank_id)) rank.own_work_ns.reset();
}

}  // namespace

int64_t KeptStep::begin_ns() const {
    int64_t first_ns = ranks.front().begin_ns;
    for (const RankInStep& rank : ranks) first_ns = std::min(first_ns, rank.begin_ns);
    return first_ns;
}

int64_t KeptStep::end_ns() const {
    int64_t last_ns = ranks.front().end_ns();
    for (const RankInStep& rank : ranks) last_ns = std::max(last_ns, rank.end_ns());
    return last_ns;
}

std::optional<KeptStep::Ends> KeptStep::by_work() const {
    if (!is_known_of_all(ranks)) return {};
    const auto [least, most] = std::minmax_element(ranks.begin(), ranks.end(), has_less_work);
    const bool is_worth_it =
        static_cast<double>(*most->own_work_ns) > kWorthSaying * static_cast<double>(*least->own_work_ns);
    return is_worth_it ? std::optional(Ends{&*most, &*least}) : std::nullopt;
}

std::vector<KeptStep> kept_steps(const ReportSource& source) {
    std::vector<KeptStep> all;
    Query rows = source.run.prepare(
        "SELECT t.why, t.of_ranks, t.rank_id, t.step, s.number, s.begin_ns, s.dur_ns, t.offset_ns,"
        " k.left_out, coalesce('rank ' || r.rank, 'process ' || r.pid), coalesce(r.host, ''), t.clock,"
        " t.step_by, t.clock_error_ns, t.own_work_ns, t.is_straggler,"
        " (SELECT min(begin_ns) FROM step a WHERE a.rank_id = t.rank_id),"
        " (SELECT max(begin_ns + dur_ns) FROM step a WHERE a.rank_id = t.rank_id), d.begin_ns, d.end_ns"
        " FROM together_step t JOIN v_drawn_step d ON d.why = t.why AND d.rank_id = t.rank_id JOIN kept_step "
        "k ON k.rank_id = t.rank_id AND k.step = t.step"
        " JOIN step s ON s.rank_id = t.rank_id AND s.step = t.step JOIN rank r ON r.rank_id = t.rank_id"
        " ORDER BY t.why, t.rank_id");
    while (rows.step()) {
        if (all.empty() || all.back().why != rows.text(0)) all.push_back({rows.text(0), rows.number(1), {}});
        all.back().ranks.push_back(rank_of(source, rows));
    }
    forget_untold_work(source, all);
    return all;
}

}  // namespace gpushim::analysis
