// Operations of which a trace does not say on which device they ran: the context of their stream is not in
// it. They are in its counts, and in no figure of a GPU. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "../sqlite/database.h"

namespace gpushim::analysis {

// How many of those whose rows are there. Only where there is such a stream are operations gone through.
int64_t placeless_operations(const Database& trace);

std::string placeless_text(int64_t operations);  // "the trace does not say on which GPU 3 operations ran"

}  // namespace gpushim::analysis
