#include "plain_layout.h"

#include <utility>

#include "database.h"

namespace gpushim::analysis {

namespace {

// A key that is an index of its own (descending, or of a table without rowid) is none of the tree.
constexpr const char* kColumns =
    "SELECT s.rootpage, c.name, c.pk, c.cid = 0 AND c.type = 'INTEGER' COLLATE NOCASE,"
    " c.hidden = 0 AND c.dflt_value IS NULL, c.\"notnull\","
    " EXISTS (SELECT 1 FROM pragma_index_list(?1) i WHERE NOT i.partial)"
    " FROM sqlite_schema s CROSS JOIN pragma_table_xinfo(?1) c WHERE s.type = 'table' AND s.name = ?1"
    " AND NOT EXISTS (SELECT 1 FROM pragma_index_list(?1) i WHERE i.origin = 'pk') ORDER BY c.cid";

}  // namespace

PlainLayouts::PlainLayouts(std::string where) : where_(std::move(where)) {}
PlainLayouts::~PlainLayouts() = default;

const PlainLayout& PlainLayouts::of(sqlite3* base, const std::string& table) {
    const auto found = of_.find(table);
    return found != of_.end() ? found->second : of_.emplace(table, look(base, table)).first->second;
}

void PlainLayouts::let_go() { columns_.reset(); }

PlainLayout PlainLayouts::look(sqlite3* base, const std::string& table) {
    if (!columns_) columns_ = std::make_unique<Query>(base, where_, kColumns);
    Query& column = *columns_;
    column.bind(1, table);
    PlainLayout layout;
    bool is_plain = true;
    while (column.step()) {
        const bool is_first = layout.columns.empty(), is_key = column.number(2) != 0;
        const bool can_be_key = column.number(3) != 0, is_as_read = column.number(4) != 0;
        is_plain = is_plain && is_as_read && is_key == is_first && (!is_key || can_be_key);
        const int64_t root = column.number(0);
        is_plain = is_plain && root > 0 && root <= UINT32_MAX;
        layout.root_page = static_cast<uint32_t>(root);
        layout.columns.push_back(column.text(1));
        layout.has_nulls.push_back(column.number(5) == 0);
        layout.is_indexed = column.number(6) != 0;
    }
    column.reset();
    return is_plain ? layout : PlainLayout{};
}

}  // namespace gpushim::analysis
