// What the requests of a server took, of its own ranges: how long each was under way, how long it waited to
// begin, and what the server did meanwhile. One thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "serving_figures.h"

namespace gpushim::analysis {

// Of the time from its begin to its end: iterations of that kind, whomever they were for; nothing ran. The
// rest is time of iterations that are not counted.
struct Request {
    std::string name;
    int64_t begin_ns = 0, latency_ns = 0;
    std::optional<int64_t> queued_ns;  // until its prompt was begun
    double decodes_ns = 0, prefills_ns = 0, idle_ns = 0;
};

struct Requests {
    int64_t ended = 0, open = 0;
    double per_second = 0;
    Percentiles latency, queued;
    std::string why_not_queued;
    std::vector<Request> slowest;  // at most kMostShown

    static constexpr size_t kMostShown = 5;
};

// None: the program marked none, or does not serve.
std::optional<Requests> requests_of(const ReportSource& source);

}  // namespace gpushim::analysis
