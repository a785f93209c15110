#include "idle_ranges.h"

#include "../../sqlite/database.h"
#include "cause_list.h"

namespace gpushim::analysis {

namespace {

bool has_ranges(sqlite3* run) {
    Query tables(run, "run",
                 "SELECT count(*) FROM sqlite_master WHERE name IN ('idle_range', 'v_idle_range')");
    return tables.step() && tables.number(0) == 2 &&
           Query(run, "run", "SELECT 1 FROM idle_range LIMIT 1").step();
}

}  // namespace

std::vector<IdleRange> idle_ranges(sqlite3* run, const Causes* causes, int64_t most) {
    std::vector<IdleRange> ranges;
    if (!has_ranges(run)) return ranges;
    const std::string list = sql_list_of(causes);
    Query rows(
        run, "run",
        "SELECT domain, name, 1.0 * sum(r.ns) / all_ns, 1.0 * sum(over_ns) / all_ns FROM v_idle_range r,"
        " (SELECT nullif(sum(ns), 0) AS all_ns FROM v_gpu_idle WHERE cause IN (" +
            list + ")) WHERE name IS NOT NULL AND cause IN (" + list +
            ") GROUP BY domain, name ORDER BY sum(ns) DESC, domain, name LIMIT ?1");
    rows.bind(1, most);
    while (rows.step()) {
        const std::optional<std::string> domain =
            rows.is_null(0) ? std::nullopt : std::optional(rows.text(0));
        ranges.push_back({domain, rows.text(1), rows.real(2), rows.real(3)});
    }
    return ranges;
}

}  // namespace gpushim::analysis
