#include "summarise.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "../sqlite/new_database.h"
#include "sql/histogram.h"
#include "sql/run_db.h"

namespace gpushim::analysis {

namespace fs = std::filesystem;

namespace {

std::string quoted(const std::string& text) {
    std::string inside;
    for (const char c : text) inside += c == '\'' ? std::string("''") : std::string(1, c);
    return "'" + inside + "'";
}

// The summary's tables that the run has, too, under the same name; each with its columns.
std::map<std::string, std::string> tables_of_both(const NewDatabase& made) {
    std::map<std::string, std::string> tables;
    Query columns(made.raw(), "summary",
                  "SELECT t.name, c.name FROM main.sqlite_schema t JOIN pragma_table_info(t.name) c"
                  " WHERE t.type = 'table' AND t.name IN (SELECT name FROM run.sqlite_schema)"
                  " ORDER BY t.name, c.cid");
    while (columns.step()) {
        std::string& list = tables[columns.text(0)];
        list += (list.empty() ? "r." : ", r.") + columns.text(1);
    }
    return tables;
}

// r.column, never "column": SQLite would take a column that the run does not have for a text.
void copy_rows(const NewDatabase& made) {
    for (const auto& [table, columns] : tables_of_both(made))
        made.run("INSERT INTO main.\"" + table + "\" SELECT " + columns + " FROM run.\"" + table + "\" r");
}

struct Cell {
    int64_t count = 0, sum = 0;
};

void write_step_histogram(const NewDatabase& made) {
    std::map<std::pair<int64_t, int32_t>, Cell> cells;
    Query steps(made.raw(), "summary", "SELECT rank_id, dur_ns FROM main.v_counted_step WHERE is_slice = 0");
    while (steps.step()) {
        Cell& cell = cells[{steps.number(0), bucket_of(steps.number(1))}];
        ++cell.count;
        cell.sum += steps.number(1);
    }
    for (const auto& [of, cell] : cells)
        made.run("INSERT INTO step_histogram VALUES (" + std::to_string(of.first) + ", " +
                 std::to_string(of.second) + ", " + std::to_string(cell.count) + ", " +
                 std::to_string(cell.sum) + ")");
}

void write_raw_files(const NewDatabase& made, std::span<const Trace> traces) {
    for (size_t i = 0; i < traces.size(); ++i) {
        std::error_code none;
        const auto bytes = fs::file_size(traces[i].path, none);
        made.run("INSERT INTO raw_file VALUES (" + std::to_string(i) + ", " +
                 quoted(fs::absolute(traces[i].path).lexically_normal().string()) + ", " +
                 (none ? "NULL" : std::to_string(bytes)) + ")");
    }
}

}  // namespace

void summarise(const fs::path& run, std::span<const Trace> traces, const fs::path& place) {
    NewDatabase made(place);
    made.run("PRAGMA page_size = 1024; PRAGMA user_version = " + std::to_string(kSummarySchema));
    made.run("ATTACH " + quoted(run.string()) + " AS run");
    made.run("BEGIN");
    for (size_t i = 0; i < kRunSqlFiles; ++i)
        if (std::string_view(kRunSql[i].name).starts_with("summary/")) made.run(kRunSql[i].text);
    copy_rows(made);
    write_step_histogram(made);
    write_raw_files(made, traces);
    made.run("PRAGMA application_id = " + std::to_string(kSummaryApplication));
    made.run("COMMIT");
    made.run("DETACH run");
    made.move_to_place();
}

bool is_summary(const Database& base) {
    Query query = base.prepare("PRAGMA application_id");
    return query.step() && query.number(0) == kSummaryApplication;
}

}  // namespace gpushim::analysis
