#include "rows_module.h"

#include <bit>
#include <string>

#include "../base/guarded.h"

namespace gpushim::shim {
namespace {

struct RowsCursor : sqlite3_vtab_cursor {
    const Rows* rows;
    size_t index;
};

// c0, c1, …, c31, and the block that they are of.
int connect(sqlite3* base, void*, int, const char* const*, sqlite3_vtab** table, char**) {
    const int code = sqlite3_declare_vtab(
        base, ("CREATE TABLE x(" + column_names(kMostColumns) + ",block HIDDEN)").c_str());
    if (code == SQLITE_OK) *table = new sqlite3_vtab{};
    return code;
}
int disconnect(sqlite3_vtab* table) {
    delete table;
    return SQLITE_OK;
}
// The block is told in brackets, or there is nothing to read.
int best_index(sqlite3_vtab*, sqlite3_index_info* asked) {
    for (int i = 0; i < asked->nConstraint; ++i) {
        const auto& constraint = asked->aConstraint[i];
        if (constraint.iColumn != kMostColumns || constraint.usable == 0) continue;
        asked->aConstraintUsage[i].argvIndex = 1;
        asked->aConstraintUsage[i].omit = 1;
        return SQLITE_OK;
    }
    return SQLITE_CONSTRAINT;
}
int open_cursor(sqlite3_vtab*, sqlite3_vtab_cursor** cursor) {
    *cursor = new RowsCursor{};
    return SQLITE_OK;
}
int close_cursor(sqlite3_vtab_cursor* cursor) {
    delete static_cast<RowsCursor*>(cursor);
    return SQLITE_OK;
}
int first(sqlite3_vtab_cursor* cursor, int, const char*, int, sqlite3_value** told) {
    auto* at = static_cast<RowsCursor*>(cursor);
    at->rows = static_cast<const Rows*>(sqlite3_value_pointer(told[0], kRowsPointer));
    if (at->rows == nullptr) return SQLITE_MISUSE;
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

std::string column_names(int count) {
    std::string names = "c0";
    for (int i = 1; i < count; ++i) names += ",c" + std::to_string(i);
    return names;
}

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
