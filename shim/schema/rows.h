// A row of each table of a trace as a struct: columns by name, in the order of the table. A number that is
// kNull is NULL; a column of text holds what Rows::text() returned, one of REAL what Rows::real() did. And
// the place of each column in its row. All of it comes from tables.def.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "../sqlite/rows.h"

namespace gpushim::shim {

// clang-format off
namespace column_type {
#define TABLE(name, ...) inline constexpr auto name = std::to_array<std::string_view>({
#define COLUMN(name, type) #type,
#define END(...) });
#include "tables.def"
}  // namespace column_type

namespace column {
constexpr int none = -1;  // there is none
#define TABLE(name, ...) namespace name { enum Place : int { none = -1, one = -1,
#define COLUMN(name, type) name,
#define END(...) }; }
#include "tables.def"
}  // namespace column

namespace row {
#define TABLE(name, ...) struct name { \
    static constexpr const char* kTable = #name; \
    static constexpr auto& kTypes = column_type::name;
#define COLUMN(name, type) int64_t name = kNull;
#define END(...) };
#include "tables.def"
}  // namespace row
// clang-format on

}  // namespace gpushim::shim
