// A trace while it is written, row by row. One thread.
#pragma once

#include <concepts>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "../sqlite/new_database.h"
#include "imported_row.h"

namespace gpushim::analysis {

// An integer, or none, or a text.
struct Cell {
    template <std::integral Number>
    Cell(Number value) : number(value) {}  // kNone: NULL
    Cell(const char* value) : text(value), is_text(true) {}
    Cell(const std::optional<int64_t>& value) : number(value.value_or(ImportedRow::kNone)) {}
    Cell(std::string_view value) : text(value), is_text(value.data() != nullptr) {}  // without data: NULL
    int64_t number = ImportedRow::kNone;
    std::string_view text;
    bool is_text = false;
};

class RowsOf {
  public:
    RowsOf(std::filesystem::path place, std::string_view schema);

    // A row of that table, all its columns in order.
    void add(const char* table, std::initializer_list<Cell> row);
    void finish();

  private:
    NewDatabase made_;
};

}  // namespace gpushim::analysis
