// A row of a run's table by the names of what is known of it: all else is NULL.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "analysis/sqlite/database.h"

namespace made {

using namespace gpushim::analysis;

using Cells = std::initializer_list<std::pair<const char*, Value>>;

inline void add_known(sqlite3* run, const std::string& table, Cells known) {
    std::string columns, values;
    for (const auto& column : known) {
        columns += (columns.empty() ? "\"" : ", \"") + std::string(column.first) + "\"";
        values += values.empty() ? "?" : ", ?";
    }
    Query row(run, table, "INSERT INTO \"" + table + "\" (" + columns + ") VALUES (" + values + ")");
    int parameter = 0;
    for (const auto& column : known) row.bind(++parameter, column.second);
    row.step();
}

}  // namespace made
