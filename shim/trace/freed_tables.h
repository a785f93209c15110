// Tables whose rows go by their time, where the trace may not grow (schema/tables.def), but for `memory`: of
// that each row is looked at.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

namespace gpushim::shim {

// Rows that stay: what is needed to go on, or cannot be summed up.
constexpr const char* stays_of(std::string_view table) {
    if (table == "call") return " AND api_id NOT IN (SELECT id FROM api WHERE kind = 'communicator')";
    if (table == "marker") return " AND (kind NOT IN ('rest', 'resume', 'category') OR ?3)";
    return "";
}

struct FreedTable {
    const char* name;
    const char* calls;  // that a row stands for; null: none
};
constexpr const char* calls_of(const char* column) {
    return std::string_view(column) == "one" ? "1" : column;
}
constexpr FreedTable kFreedByTime[] = {
#define EVENT(name, what, calls, bytes) {#name, calls_of(#calls)},
#define OF_freed(name) {#name, nullptr},
#define OF_thinned(name)
#define OF_merged(name)
#define OF_unused(name)
#define OF_stays(name)
#define TABLE(name, filled, life) OF_##life(name)
#include "../schema/tables.def"
#undef OF_freed
#undef OF_thinned
#undef OF_merged
#undef OF_unused
#undef OF_stays
};
constexpr auto kFreed = [] {
    std::array<FreedTable, std::size(kFreedByTime) - 1> freed{};
    std::ranges::copy_if(kFreedByTime, freed.begin(),
                         [](const FreedTable& table) { return std::string_view(table.name) != "memory"; });
    return freed;
}();

}  // namespace gpushim::shim
