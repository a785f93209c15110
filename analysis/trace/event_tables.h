// The tables of events that a trace has, in the order of shim/schema/tables.def, and those of operations
// among them: what runs on a device, with the times in a table beside it (launch_device, ...).
#pragma once

#include <string_view>
#include <vector>

#include "../sqlite/database.h"

namespace gpushim::analysis {

struct EventTable {
    const char* name;
    const char* calls;  // the column that says for how many calls a row stands; "one": a row is a call
};
constexpr EventTable kEventTables[] = {
#define EVENT(name, what, calls, bytes) {#name, #calls},
#include "../../shim/schema/tables.def"
};

// Of these the ones that the trace has: it may be older than some.
std::vector<EventTable> event_tables_of(const Database& base);

constexpr const char* kOperationTables[] = {
#define OF_operation(name) #name,
#define OF_call(name)
#define OF_mark(name)
#define EVENT(name, what, ...) OF_##what(name)
#include "../../shim/schema/tables.def"
#undef OF_operation
#undef OF_call
#undef OF_mark
};

}  // namespace gpushim::analysis
