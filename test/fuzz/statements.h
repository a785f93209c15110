// What a script does to the rows and the schema of a base, as SQL.
#pragma once

#include <string>
#include <vector>

#include "analysis/sqlite/database.h"
#include "script.h"

namespace fuzz {

// What there is to change in a base, by its names as it was made.
struct Inventory {
    explicit Inventory(const gpushim::analysis::Database& base);

    struct Table {
        std::string name;
        std::vector<std::string> columns;
        std::string number;  // of a row: its rowid, or what it has instead
    };
    std::vector<Table> tables;
    std::vector<std::string> things;  // `view "v_range"`: what can be dropped
};

enum class Changes : uint8_t { values, schema_too };

// At most eight statements; whatever SQLite refuses is left out.
void change(sqlite3* base, const Inventory& inventory, Script script, Changes which);

}  // namespace fuzz
