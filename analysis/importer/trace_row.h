// A row of each table of a trace as a struct: columns by name (shim/schema/tables.def). What is not said is
// NULL.
#pragma once

#include <array>

#include "cell.h"

namespace gpushim::analysis {

// clang-format off
namespace row {
#define TABLE(name, ...) struct name { static constexpr const char* kTable = #name;
#define COLUMN(name, type) Cell name = {};
#define END(...) };
#include "../../shim/schema/tables.def"
}  // namespace row

#define TABLE(name, ...) inline auto cells_of(const row::name& row) { return std::array{
#define COLUMN(name, type) row.name,
#define END(...) }; }
#include "../../shim/schema/tables.def"
// clang-format on

}  // namespace gpushim::analysis
