// Where things are in the pages of a database's tables (https://www.sqlite.org/fileformat2.html).
#pragma once

#include <cstdint>

namespace gpushim::analysis {

constexpr uint8_t kInteriorPage = 5, kLeafPage = 13;            // the first byte of a page of a table
constexpr uint8_t kInteriorIndexPage = 2, kLeafIndexPage = 10;  // … of an index, or of a table WITHOUT ROWID
constexpr uint32_t kInteriorHeader = 12, kLeafHeader = 8;
constexpr uint32_t kCellsPlace = 3, kContentPlace = 5, kRightmostPlace = 8;  // in these headers

}  // namespace gpushim::analysis
