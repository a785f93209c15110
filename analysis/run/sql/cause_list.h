// Causes as a list in SQL: `cause IN (…)`. Pure; any thread.
#pragma once

#include <string>

#include "../../idle/cause.h"

namespace gpushim::analysis {

// nullptr: all of them.
inline std::string sql_list_of(const Causes* causes) {
    std::string list;
    for (const CauseRow& row : kCauses)
        if (causes == nullptr || causes->has(row.cause))
            list += (list.empty() ? "'" : ", '") + std::string(row.name) + "'";
    return list;
}

}  // namespace gpushim::analysis
