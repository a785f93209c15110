#include "statements.h"

#include <sqlite3.h>

#include <iterator>

namespace fuzz {

namespace {

using gpushim::analysis::Query;

constexpr int kMostStatements = 8;

// What somebody may have put into a file who knows how it will be read. Without an end is nothing here: how
// that is bounded has tests of its own, and each such input would take seconds.
constexpr const char* kSchemas[] = {
    "ALTER TABLE process RENAME TO old; CREATE VIEW process AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL"
    " SELECT i + 1 FROM n) SELECT old.* FROM old, n",
    "ALTER TABLE meta RENAME TO old; CREATE VIEW meta AS SELECT a.key, a.value FROM old a, old b, old c, old "
    "d,"
    " old e, old f, old g, old h",
    "ALTER TABLE launch RENAME TO old; CREATE VIEW launch AS SELECT a.* FROM old a, old b, old c, old d, old "
    "e",
    "DROP TABLE name; CREATE TABLE name (id INTEGER PRIMARY KEY, text TEXT AS (hex(zeroblob(100000000))),"
    " symbol TEXT)",
    "DROP TABLE name; CREATE VIRTUAL TABLE name USING fts5(id, text, symbol)",
    "DROP VIEW IF EXISTS v_range; CREATE VIEW v_range AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT"
    " i + 1 FROM n WHERE i < 2000) SELECT i AS start_ns, i AS end_ns, 'step' AS name FROM n",
    "CREATE TRIGGER owned AFTER INSERT ON launch BEGIN DELETE FROM launch; END",
    "PRAGMA user_version = 99",
    "PRAGMA user_version = 1",
    "PRAGMA application_id = 0x67707372",
};
constexpr const char* kRows[] = {
    "UPDATE name SET text = hex(zeroblob(600))",
    "UPDATE process SET executable = hex(zeroblob(600)), run_key = zeroblob(1000)",
    "UPDATE handle SET parent_id = id",
    "UPDATE graph_launch SET enter_ns = -enter_ns",
    "UPDATE clock SET mono_ns = 9223372036854775807 - rowid",
    "UPDATE launch SET dur_ns = 9223372036854775807",
    "UPDATE launch SET dur_ns = -9223372036854775807 - 1",
    "UPDATE copy SET bytes = 9223372036854775807",
    "UPDATE \"window\" SET dur_ns = -1, operations = 0",
    "UPDATE rollup SET events = -1, sum_ns = 1e308",
    "UPDATE rollup SET histogram = zeroblob(100000)",
    "UPDATE device SET memory_bytes = 0",
    "UPDATE process SET rank = 2000000000, world_size = -1",
    "UPDATE collective SET communicator_id = 77",
    "INSERT INTO launch_device SELECT enter_ns, -9000000000000000000, 9000000000000000000, 1 FROM launch",
    "INSERT INTO clock SELECT a.enter_ns + b.enter_ns, a.enter_ns, b.enter_ns FROM launch a, copy b",
};
constexpr const char* kValues[] = {
    "NULL", "0", "-1",  "9223372036854775807", "-9223372036854775807 - 1", "1e308", "'x'", "zeroblob(9)",
    "0.5",  "1", "'-'", "4294967296"};
constexpr size_t kNumbers = 4;  // as likely as so many of these: a number that the script says

template <class List>
const auto& pick(const List& all, Script& script) {
    return all[script.byte() % std::size(all)];
}

std::string value(Script& script) {
    const size_t which = script.byte() % (std::size(kValues) + kNumbers);
    return which < std::size(kValues) ? kValues[which] : std::to_string(script.number());
}

// Some rows of some column of some table get some value.
std::string changed_column(const Inventory& inventory, Script& script) {
    const Inventory::Table& table = pick(inventory.tables, script);
    const std::string& column = pick(table.columns, script);
    const std::string to = value(script);
    return "UPDATE OR IGNORE \"" + table.name + "\" SET \"" + column + "\" = " + to + " WHERE " +
           table.number + " % 4 <= " + std::to_string(script.byte() % 4);
}

std::string statement(const Inventory& inventory, Script& script, Changes which) {
    switch (script.byte() % (which == Changes::values ? 4 : 6)) {
        case 0:
        case 1:
            return changed_column(inventory, script);
        case 2:
            return pick(kRows, script);
        case 3:
            return "DELETE FROM \"" + pick(inventory.tables, script).name + "\"";
        case 4:
            return pick(kSchemas, script);
        default:
            return "DROP " + pick(inventory.things, script);
    }
}

}  // namespace

Inventory::Inventory(const gpushim::analysis::Database& base) {
    Query all = base.prepare("SELECT type, name FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid");
    while (all.step()) {
        const std::string name = all.text(1);
        things.push_back(all.text(0) + " \"" + name + "\"");
        if (all.text(0) != "table") continue;
        tables.push_back({name, {}, "rowid"});
        Query columns = base.prepare(
            "SELECT i.name, l.wr AND i.pk > 0 FROM pragma_table_info(?1) i JOIN pragma_table_list l"
            " ON l.name = ?1 AND l.schema = 'main' ORDER BY i.cid");
        columns.bind(1, name);
        while (columns.step()) {
            tables.back().columns.push_back(columns.text(0));
            if (columns.number(1) != 0) tables.back().number = "\"" + columns.text(0) + "\"";  // its last
        }
    }
}

void change(sqlite3* base, const Inventory& inventory, Script script, Changes which) {
    for (int left = kMostStatements; left > 0 && !script.is_over(); --left)
        sqlite3_exec(base, statement(inventory, script, which).c_str(), nullptr, nullptr, nullptr);
}

}  // namespace fuzz
