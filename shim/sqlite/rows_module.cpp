#include "rows_module.h"

#include <bit>
#include <string>

#include "../base/guarded.h"
#include "rows.h"

namespace gpushim::shim {
namespace {

struct RowsTable : sqlite3_vtab {
    Rows* rows;
};
struct RowsCursor : sqlite3_vtab_cursor {
    const Rows* rows;
    size_t index;
};

int connect(sqlite3* base, void* rows, int, const char* const*, sqlite3_vtab** table, char**) {
    auto& block = *static_cast<Rows*>(rows);
    std::string sql = "CREATE TABLE x(c0";
    for (int i = 1; i < block.columns(); ++i) sql += ",c" + std::to_string(i);
    const int code = sqlite3_declare_vtab(base, (sql + ")").c_str());
    if (code != SQLITE_OK) return code;
    auto* made = new RowsTable{};
    made->rows = &block;
    *table = made;
    return SQLITE_OK;
}
int disconnect(sqlite3_vtab* table) {
    delete static_cast<RowsTable*>(table);
    return SQLITE_OK;
}
int best_index(sqlite3_vtab*, sqlite3_index_info*) { return SQLITE_OK; }
int open_cursor(sqlite3_vtab* table, sqlite3_vtab_cursor** cursor) {
    auto* made = new RowsCursor{};
    made->rows = static_cast<RowsTable*>(table)->rows;
    *cursor = made;
    return SQLITE_OK;
}
int close_cursor(sqlite3_vtab_cursor* cursor) {
    delete static_cast<RowsCursor*>(cursor);
    return SQLITE_OK;
}
int first(sqlite3_vtab_cursor* cursor, int, const char*, int, sqlite3_value**) {
    auto* at = static_cast<RowsCursor*>(cursor);
    at->index = at->rows->shown_from();
    return SQLITE_OK;
}
int next(sqlite3_vtab_cursor* cursor) {
    ++static_cast<RowsCursor*>(cursor)->index;
    return SQLITE_OK;
}
int at_end(sqlite3_vtab_cursor* cursor) {
    const auto* at = static_cast<RowsCursor*>(cursor);
    return at->index >= at->rows->shown_until();
}
int column(sqlite3_vtab_cursor* cursor, sqlite3_context* to, int index) {
    const auto* at = static_cast<RowsCursor*>(cursor);
    const int64_t value = at->rows->row(at->index)[index];
    if (value == kNull) return SQLITE_OK;
    if (const std::string* text = at->rows->text_of(index, value))
        sqlite3_result_text(to, text->data(), static_cast<int>(text->size()), SQLITE_STATIC);
    else if (at->rows->is_real(index))
        sqlite3_result_double(to, std::bit_cast<double>(value));
    else
        sqlite3_result_int64(to, value);
    return SQLITE_OK;
}
int row_id(sqlite3_vtab_cursor* cursor, sqlite3_int64* to) {
    *to = static_cast<sqlite3_int64>(static_cast<RowsCursor*>(cursor)->index);
    return SQLITE_OK;
}

}  // namespace

// Without xCreate the table exists by its name alone.
constinit const sqlite3_module rows_module = [] {
    sqlite3_module rows = {};
    rows.xConnect = guarded<connect>;
    rows.xBestIndex = best_index;
    rows.xDisconnect = disconnect;
    rows.xOpen = guarded<open_cursor>;
    rows.xClose = close_cursor;
    rows.xFilter = first;
    rows.xNext = next;
    rows.xEof = at_end;
    rows.xColumn = guarded<column>;
    rows.xRowid = row_id;
    return rows;
}();

}  // namespace gpushim::shim
