// A trace while it is written, row by row. One thread.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "../sqlite/new_database.h"
#include "trace_row.h"

namespace gpushim::analysis {

class RowsOf {
  public:
    RowsOf(std::filesystem::path place, std::string_view schema);

    template <class Row>
    void add(const Row& row) {
        add(Row::kTable, cells_of(row));
    }
    void finish();

  private:
    // Rows of a table, until there are enough for one statement: all of them numbers.
    struct Waiting {
        size_t columns = 0;
        std::vector<int64_t> numbers;
    };
    void add(const char* table, std::span<const Cell> row);
    void put(const char* table, std::span<const Cell> row);
    void bind(sqlite3_stmt* statement, int parameter, int64_t number) const;
    void put_together(const char* table, Waiting& waiting);
    void put_singly(const char* table, Waiting& waiting);

    NewDatabase made_;
    std::unordered_map<const char*, Waiting> waiting_;  // by table, which is one and the same text
};

}  // namespace gpushim::analysis
