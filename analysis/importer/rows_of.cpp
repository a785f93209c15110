#include "rows_of.h"

#include <sqlite3.h>

namespace gpushim::analysis {

RowsOf::RowsOf(std::filesystem::path place, std::string_view image) : made_(std::move(place), image) {
    made_.run("PRAGMA cache_size = -8192");
    layouts_.emplace(made_.where());
    trees_.emplace(made_.file(), image);
}

void RowsOf::add(const char* table, std::span<const Cell> row) {
    if (trees_ && add_to_tree(table, row)) return;
    end_trees();
    put(table, row);
}

const RowsOf::Table& RowsOf::table_of(const char* name) {
    const auto [found, is_new] = tables_.try_emplace(name);
    Table& table = found->second;
    if (!is_new) return table;
    table.layout = &layouts_->of(made_.raw(), name);
    const bool is_tree = table.layout->root_page > 0 && !table.layout->is_indexed;
    table.tree = is_tree ? trees_->table(table.layout->root_page) : kNoTree;
    return table;
}

// False: it is for SQLite to say what is to become of it.
bool RowsOf::add_to_tree(const char* name, std::span<const Cell> row) {
    const Table& table = table_of(name);
    const Cell& key = row.front();
    if (table.tree == kNoTree || row.size() != table.layout->columns.size()) return false;
    if (key.is_text || key.number == ImportedRow::kNone) return false;
    record_.clear();
    record_.add_null();
    for (size_t i = 1; i < row.size(); ++i) {
        const Cell& cell = row[i];
        if (cell.is_text)
            record_.add(cell.text);
        else if (cell.number != ImportedRow::kNone)
            record_.add(cell.number);
        else if (table.layout->has_nulls[i])
            record_.add_null();
        else
            return false;
    }
    return trees_->add(table.tree, key.number, record_.bytes());
}

void RowsOf::end_trees() {
    if (!trees_) return;
    trees_->finish();
    trees_.reset();
    layouts_.reset();
    made_.run("BEGIN");
}

void RowsOf::put(const char* table, std::span<const Cell> row) {
    sqlite3_stmt* statement = made_.row_of(table, row.size());
    int parameter = 0;
    for (const Cell& cell : row) {
        ++parameter;
        if (cell.is_text)
            made_.check(sqlite3_bind_text(statement, parameter, cell.text.data(),
                                          static_cast<int>(cell.text.size()), SQLITE_STATIC));
        else if (cell.number == ImportedRow::kNone)
            made_.check(sqlite3_bind_null(statement, parameter));
        else
            made_.check(sqlite3_bind_int64(statement, parameter, cell.number));
    }
    made_.put_row(statement);
}

void RowsOf::finish() {
    end_trees();
    made_.run("COMMIT");
    made_.move_to_place();
}

}  // namespace gpushim::analysis
