// A trace while it is written, row by row. Rows of tables whose key is their first column, which come in
// order of it, go straight into the file's pages. From the first one on that cannot, all that follow go by
// statements. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>

#include "../sqlite/new_database.h"
#include "../sqlite/plain_layout.h"
#include "../sqlite/tree_writer.h"
#include "trace_row.h"

namespace gpushim::analysis {

class RowsOf {
  public:
    // `image`: tables without rows (sqlite/database_image.h). No row is of an index of some rows.
    RowsOf(std::filesystem::path place, std::string_view image);

    template <class Row>
    void add(const Row& row) {
        add(Row::kTable, cells_of(row));
    }
    void finish();

  private:
    struct Table {
        const PlainLayout* layout;
        size_t tree;
    };
    static constexpr size_t kNoTree = SIZE_MAX;
    void add(const char* table, std::span<const Cell> row);
    bool add_to_tree(const char* table, std::span<const Cell> row);
    const Table& table_of(const char* table);
    void end_trees();
    void put(const char* table, std::span<const Cell> row);

    NewDatabase made_;
    std::optional<PlainLayouts> layouts_;
    std::optional<TreeWriter> trees_;
    NewRecord record_;
    std::unordered_map<const char*, Table> tables_;  // by name, which is one and the same text
};

}  // namespace gpushim::analysis
