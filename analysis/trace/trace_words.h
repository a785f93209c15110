// What the numbers in a trace's rows mean, asked of it once. Read-only from then on; any thread.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "../sqlite/database.h"
#include "by_number.h"
#include "call.h"

namespace gpushim::analysis {

struct TraceWords {
    struct Error {
        int64_t start_low_ns, start_high_ns, end_low_ns, end_high_ns, likely_ns;
        int32_t events;
        bool queued;
    };
    ByNumber<int32_t> lane_of_stream;
    ByNumber<Error> errors;
    ByNumber<CallKind> kind_of_api;
    std::unordered_set<int64_t> lookups;    // APIs that look functions up
    std::vector<std::string> host_classes;  // what samples said a thread was blocked on
};
TraceWords words_of(const Database& base);

}  // namespace gpushim::analysis
