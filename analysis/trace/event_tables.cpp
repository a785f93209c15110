#include "event_tables.h"

namespace gpushim::analysis {

std::vector<EventTable> event_tables_of(const Database& base) {
    std::vector<EventTable> found;
    for (const EventTable& table : kEventTables)
        if (base.has(table.name)) found.push_back(table);
    return found;
}

}  // namespace gpushim::analysis
