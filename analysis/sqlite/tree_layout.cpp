#include "tree_layout.h"

#include "database.h"

namespace gpushim::analysis {

namespace {

using Index = TreeLayout::Index;
using Holds = TreeLayout::Holds;

constexpr const char* kTreeColumns =
    "SELECT t.rootpage, c.type, c.\"notnull\" OR c.pk, c.hidden, c.pk FROM main.sqlite_schema t"
    " CROSS JOIN pragma_table_xinfo(t.name, 'main') c WHERE t.type = 'table' AND t.name = ?1 ORDER BY c.cid";

// The index that a table WITHOUT ROWID is itself has no row of the schema.
constexpr const char* kTreeIndices =
    "SELECT coalesce(i.rootpage, t.rootpage), i.rootpage IS NULL, l.\"unique\", x.cid, x.\"key\","
    " l.partial OR x.cid < -1 OR (x.\"key\" AND (x.desc OR x.coll <> 'BINARY'))"
    " FROM main.sqlite_schema t CROSS JOIN pragma_index_list(t.name, 'main') l"
    " LEFT JOIN main.sqlite_schema i ON i.type = 'index' AND i.name = l.name"
    " CROSS JOIN pragma_index_xinfo(l.name, 'main') x"
    " WHERE t.type = 'table' AND t.name = ?1 ORDER BY i.rootpage IS NOT NULL, l.seq, x.seqno";

constexpr const char* kAsksMore =
    "SELECT 1 FROM main.sqlite_schema WHERE (type = 'trigger' AND tbl_name = ?1)"
    " OR (type = 'table' AND name = ?1 AND (sql LIKE '%CHECK (%' OR sql LIKE '%CHECK(%'))";

std::optional<Holds> held_by(const std::string& type) {
    if (type == "INTEGER") return Holds::numbers;
    if (type == "REAL") return Holds::reals;
    if (type == "TEXT") return Holds::texts;
    return type.empty() ? std::optional(Holds::all) : std::nullopt;
}

// False: some of them are made in another way.
bool add_columns(Query table, TreeLayout& layout, bool& has_key) {
    while (table.step()) {
        const auto holds = held_by(table.text(1));
        if (!holds || table.number(3) != 0) return false;
        layout.root_page = static_cast<uint32_t>(table.number(0));
        layout.columns.push_back({*holds, table.number(2) == 0});
        has_key |= table.number(4) != 0;
    }
    return !layout.columns.empty();
}

bool add_indices(Query row, TreeLayout& layout) {
    while (row.step()) {
        if (row.number(5) != 0) return false;
        const auto root_page = static_cast<uint32_t>(row.number(0));
        if (layout.indices.empty() || layout.indices.back().root_page != root_page)
            layout.indices.push_back({root_page});
        Index& index = layout.indices.back();
        const int64_t column = row.number(3);
        const bool is_row_number = column < 0;
        index.columns.push_back(is_row_number ? Index::kRowNumber : static_cast<size_t>(column));
        const bool is_unique = row.number(2) != 0;
        if (row.number(4) != 0 || !is_unique) ++index.key_columns;
        if (row.number(1) != 0) layout.root_page = 0;
    }
    return true;
}

}  // namespace

std::optional<TreeLayout> tree_layout(sqlite3* base, const std::string& where, const std::string& table) {
    const auto rows_of = [&](const char* sql) {
        Query rows(base, where, sql);
        rows.bind(1, table);
        return rows;
    };
    TreeLayout layout;
    bool has_key = false;
    if (rows_of(kAsksMore).step()) return {};
    if (!add_columns(rows_of(kTreeColumns), layout, has_key) || !add_indices(rows_of(kTreeIndices), layout))
        return {};
    // A key of one number would be the row's; an index beside a table's own has keys in place of numbers.
    const bool is_plain = layout.root_page != 0 ? !has_key : layout.indices.size() == 1;
    return is_plain ? std::optional(layout) : std::nullopt;
}

}  // namespace gpushim::analysis
