#include "python_places.h"

#include <algorithm>

#include "../../sqlite/database.h"
#include "cause_list.h"

namespace gpushim::analysis {

namespace {

bool has_samples(sqlite3* run) {
    Query tables(run, "run",
                 "SELECT count(*) FROM pragma_table_info('idle_python')"
                 " WHERE name IN ('step', 'ns', 'samples', 'inside_file')");
    if (!tables.step() || tables.number(0) != 4) return false;
    return Query(run, "run", "SELECT 1 FROM idle_python LIMIT 1").step();
}

std::string name_of_line(const std::string& file, const std::string& function, std::optional<int64_t> line) {
    const size_t slash = file.rfind('/');
    const std::string last = slash == std::string::npos ? file : file.substr(slash + 1);
    return last + (line ? ":" + std::to_string(*line) : "") + " (" + function + ")";
}

void note_inside(sqlite3* run, const std::string& list, PythonPlace& place) {
    Query inside(
        run, "run",
        "SELECT inside_file, inside_function, inside_line, sum(n) FROM ("
        "  SELECT rank_id, inside_file, inside_function, inside_line, max(n) AS n FROM ("
        "    SELECT g.rank_id, p.gpu_id, inside_file, inside_function, inside_line, sum(samples) AS n"
        "    FROM idle_python p JOIN v_gpu_basis USING (gpu_id, step) JOIN gpu g USING (gpu_id)"
        "    WHERE cause IN (" +
            list +
            ") AND file = ?1 AND function = ?2 AND line IS ?3"
            "    GROUP BY p.gpu_id, inside_file, inside_function, inside_line)"
            "  GROUP BY rank_id, inside_file, inside_function, inside_line)"
            " GROUP BY inside_file, inside_function, inside_line ORDER BY 4 DESC, 1, 3 LIMIT 1");
    inside.bind(1, place.file);
    inside.bind(2, place.function);
    if (place.line) inside.bind(3, *place.line);
    if (!inside.step() || inside.text(0).empty() || 2 * inside.number(3) <= place.samples) return;
    place.inside = name_of_line(inside.text(0), inside.text(1), inside.maybe(2));
    place.inside_samples = std::min(inside.number(3), place.samples);
}

}  // namespace

std::string PythonPlace::name() const { return name_of_line(file, function, line); }

std::string PythonPlace::inside_text() const {
    if (inside.empty()) return "";
    return ", " +
           (inside_samples < samples ? std::to_string(inside_samples) + " of them" : std::string("there")) +
           " in " + inside;
}

std::string PythonPlace::count_text() const {
    return std::to_string(samples) + " of " + std::to_string(of_samples) +
           (of_samples == 1 ? " sample" : " samples");
}

// A sample counts for each GPU that was idle then: of a rank's GPUs the one with the most tells how many
// there were.
std::vector<PythonPlace> python_places(sqlite3* run, const Causes* causes, int64_t most) {
    std::vector<PythonPlace> places;
    if (!has_samples(run)) return places;
    const std::string list = sql_list_of(causes);
    Query rows(
        run, "run",
        "WITH here AS (SELECT g.rank_id, p.gpu_id, file, function, line, sum(ns) AS ns, sum(samples) AS n"
        "   FROM idle_python p JOIN v_gpu_basis USING (gpu_id, step) JOIN gpu g USING (gpu_id)"
        "   WHERE cause IN (" +
            list +
            ")"
            "   GROUP BY p.gpu_id, file, function, line),"
            " of_rank AS (SELECT file, function, line, sum(ns) AS ns, max(n) AS n FROM here"
            "   GROUP BY rank_id, file, function, line),"
            " all_of_rank AS (SELECT max(n) AS n FROM (SELECT rank_id, sum(n) AS n FROM here"
            "   GROUP BY rank_id, gpu_id) GROUP BY rank_id)"
            " SELECT file, function, line,"
            "   1.0 * sum(ns) / (SELECT sum(ns) FROM gap JOIN v_gpu_basis USING (gpu_id, step) WHERE cause "
            "IN (" +
            list +
            ")), sum(n),"
            "   (SELECT sum(n) FROM all_of_rank) FROM of_rank"
            " GROUP BY file, function, line ORDER BY sum(ns) DESC, file, line LIMIT ?1");
    rows.bind(1, most);
    while (rows.step())
        places.push_back(
            {rows.text(0), rows.text(1), rows.maybe(2), rows.real(3), rows.number(4), rows.number(5)});
    for (PythonPlace& place : places) note_inside(run, list, place);
    return places;
}

}  // namespace gpushim::analysis
