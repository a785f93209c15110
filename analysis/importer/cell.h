// What stands in a column of a row that is written: an integer, a text, or NULL. The text outlives the cell.
#pragma once

#include <concepts>
#include <optional>
#include <string_view>

#include "imported_row.h"

namespace gpushim::analysis {

struct Cell {
    Cell() = default;
    template <std::integral Number>
    Cell(Number value) : number(value) {}  // kNone: NULL
    Cell(const char* value) : text(value), is_text(true) {}
    Cell(const std::optional<int64_t>& value) : number(value.value_or(ImportedRow::kNone)) {}
    Cell(std::string_view value) : text(value), is_text(value.data() != nullptr) {}  // without data: NULL
    int64_t number = ImportedRow::kNone;
    std::string_view text;
    bool is_text = false;
};

}  // namespace gpushim::analysis
