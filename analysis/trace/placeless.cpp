#include "placeless.h"

#include "../text/units.h"
#include "event_tables.h"
#include "shim/schema/flags.h"

namespace gpushim::analysis {

namespace {

// A device that is no row is none that a report could tell from others.
constexpr const char* kPlaceless =
    "SELECT s.id FROM stream s LEFT JOIN context c ON c.id = s.context_id LEFT JOIN device d"
    " ON d.id = c.device_id WHERE d.id IS NULL";

}  // namespace

int64_t placeless_operations(const Database& trace) {
    Query stream = trace.prepare(kPlaceless);
    if (!stream.step()) return 0;
    int64_t operations = 0;
    for (const std::string table : kOperationTables) {
        if (!trace.has(table)) continue;  // it is older
        Query count = trace.prepare("SELECT count(*) FROM " + table + " o WHERE o.stream_id IN (" +
                                    kPlaceless + ") AND " + kRan.sql("o"));
        if (count.step()) operations += count.number(0);
    }
    return operations;
}

std::string placeless_text(int64_t operations) {
    return "the trace does not say on which GPU " + count_text(operations) +
           (operations == 1 ? " operation ran" : " operations ran");
}

}  // namespace gpushim::analysis
