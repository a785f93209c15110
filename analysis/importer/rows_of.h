// A trace while it is written, row by row. One thread.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

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
    void add(const char* table, std::span<const Cell> row);

    NewDatabase made_;
};

}  // namespace gpushim::analysis
