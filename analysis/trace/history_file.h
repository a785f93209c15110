// How a history of nights is told from a trace.
#pragma once

#include <cstdint>

namespace gpushim::analysis {

constexpr int64_t kHistoryApplication = 0x67707368;  // "gpsh": PRAGMA application_id of histories

}  // namespace gpushim::analysis
