#include "rows_of.h"

#include <sqlite3.h>

#include <string>

namespace gpushim::analysis {

namespace {
constexpr size_t kAtOnce = 32;
}

RowsOf::RowsOf(std::filesystem::path place, std::string_view schema) : made_(std::move(place)) {
    // Rows come in order of their keys, and pages that are full are not asked for again. The cache's size is
    // told behind that of pages: SQLite counts in pages, and keeps their number when they grow.
    made_.run("PRAGMA page_size = 16384; PRAGMA cache_size = -8192");
    made_.run(std::string(schema));
    made_.run("BEGIN");
}

void RowsOf::add(const char* table, std::span<const Cell> row) {
    Waiting& waiting = waiting_[table];
    waiting.columns = row.size();
    for (const Cell& cell : row)
        if (cell.is_text) return put_singly(table, waiting), put(table, row);
    for (const Cell& cell : row) waiting.numbers.push_back(cell.number);
    if (waiting.numbers.size() == kAtOnce * row.size()) put_together(table, waiting);
}

void RowsOf::bind(sqlite3_stmt* statement, int parameter, int64_t number) const {
    made_.check(number == ImportedRow::kNone ? sqlite3_bind_null(statement, parameter)
                                             : sqlite3_bind_int64(statement, parameter, number));
}

void RowsOf::put(const char* table, std::span<const Cell> row) {
    sqlite3_stmt* statement = made_.row_of(table, row.size());
    int parameter = 0;
    for (const Cell& cell : row) {
        ++parameter;
        if (cell.is_text)
            made_.check(sqlite3_bind_text(statement, parameter, cell.text.data(),
                                          static_cast<int>(cell.text.size()), SQLITE_STATIC));
        else
            bind(statement, parameter, cell.number);
    }
    made_.put_row(statement);
}

void RowsOf::put_together(const char* table, Waiting& waiting) {
    sqlite3_stmt* statement = made_.rows_of(table, waiting.columns, kAtOnce);
    int parameter = 0;
    for (const int64_t number : waiting.numbers) bind(statement, ++parameter, number);
    made_.put_row(statement);
    waiting.numbers.clear();
}

void RowsOf::put_singly(const char* table, Waiting& waiting) {
    for (size_t at = 0; at < waiting.numbers.size(); at += waiting.columns) {
        const auto row = std::span(waiting.numbers).subspan(at, waiting.columns);
        put(table, std::vector<Cell>(row.begin(), row.end()));
    }
    waiting.numbers.clear();
}

void RowsOf::finish() {
    for (auto& [table, waiting] : waiting_) put_singly(table, waiting);
    made_.run("COMMIT");
    made_.move_to_place();
}

}  // namespace gpushim::analysis
