#include "rows_of.h"

#include <sqlite3.h>

#include <string>

namespace gpushim::analysis {

RowsOf::RowsOf(std::filesystem::path place, std::string_view schema) : made_(std::move(place)) {
    // Rows come in order of their keys, and pages that are full are not asked for again. The cache's size is
    // told behind that of pages: SQLite counts in pages, and keeps their number when they grow.
    made_.run("PRAGMA page_size = 16384; PRAGMA cache_size = -8192");
    made_.run(std::string(schema));
    made_.run("BEGIN");
}

void RowsOf::add(const char* table, std::span<const Cell> row) {
    sqlite3_stmt* statement = made_.row_of(table, row.size());
    int parameter = 0;
    for (const Cell& cell : row) {
        ++parameter;
        int code = SQLITE_OK;
        if (cell.is_text)
            code = sqlite3_bind_text(statement, parameter, cell.text.data(),
                                     static_cast<int>(cell.text.size()), SQLITE_STATIC);
        else if (cell.number == ImportedRow::kNone)
            code = sqlite3_bind_null(statement, parameter);
        else
            code = sqlite3_bind_int64(statement, parameter, cell.number);
        made_.check(code);
    }
    made_.put_row(statement);
}

void RowsOf::finish() {
    made_.run("COMMIT");
    made_.move_to_place();
}

}  // namespace gpushim::analysis
