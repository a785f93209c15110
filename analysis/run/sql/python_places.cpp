#include "python_places.h"

#include "../../sqlite/database.h"

namespace gpushim::analysis {

namespace {

std::string list_of(const Causes* causes) {
    std::string list;
    for (const CauseRow& row : kCauses)
        if (causes == nullptr || causes->has(row.cause))
            list += (list.empty() ? "'" : ", '") + std::string(row.name) + "'";
    return list;
}

bool is_there(sqlite3* run) {
    Query tables(run, "run",
                 "SELECT count(*) FROM pragma_table_info('idle_python') WHERE name IN ('ns', 'samples')");
    return tables.step() && tables.number(0) == 2;
}

}  // namespace

std::string PythonPlace::name() const {
    const size_t slash = file.rfind('/');
    const std::string last = slash == std::string::npos ? file : file.substr(slash + 1);
    return last + (line ? ":" + std::to_string(*line) : "") + " (" + function + ")";
}

std::string PythonPlace::count_text() const {
    return std::to_string(samples) + " of " + std::to_string(of_samples) +
           (of_samples == 1 ? " sample" : " samples");
}

// A sample counts for each GPU that was idle then: of a rank's GPUs the one with the most tells how many
// there were.
std::vector<PythonPlace> python_places(sqlite3* run, const Causes* causes, int64_t most) {
    std::vector<PythonPlace> places;
    if (!is_there(run)) return places;
    const std::string list = list_of(causes);
    Query rows(
        run, "run",
        "WITH here AS (SELECT g.rank_id, p.gpu_id, file, function, line, sum(ns) AS ns, sum(samples) AS n"
        "   FROM idle_python p JOIN gpu g USING (gpu_id) WHERE cause IN (" +
            list +
            ")"
            "   GROUP BY p.gpu_id, file, function, line),"
            " of_rank AS (SELECT file, function, line, sum(ns) AS ns, max(n) AS n FROM here"
            "   GROUP BY rank_id, file, function, line),"
            " all_of_rank AS (SELECT max(n) AS n FROM (SELECT rank_id, sum(n) AS n FROM here"
            "   GROUP BY rank_id, gpu_id) GROUP BY rank_id)"
            " SELECT file, function, line,"
            "   1.0 * sum(ns) / (SELECT sum(ns) FROM gap WHERE cause IN (" +
            list +
            ")), sum(n),"
            "   (SELECT sum(n) FROM all_of_rank) FROM of_rank"
            " GROUP BY file, function, line ORDER BY sum(ns) DESC, file, line LIMIT ?1");
    rows.bind(1, most);
    while (rows.step())
        places.push_back(
            {rows.text(0), rows.text(1), rows.maybe(2), rows.real(3), rows.number(4), rows.number(5)});
    return places;
}

}  // namespace gpushim::analysis
