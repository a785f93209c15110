// What a program that serves does: its iterations by kind, how evenly tokens come, and why its GPUs are idle.
// What the verdict and the section of serving both say. One thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "source.h"

namespace gpushim::analysis {

struct Percentiles {
    std::optional<int64_t> p50_ns, p95_ns, p99_ns;
};

struct KindOfIteration {
    std::string kind;
    int64_t iterations = 0, classes = 0, without_graph = 0;
    int64_t loading = 0;                           // of them, in which code was loaded
    std::optional<int64_t> loading_ns, others_ns;  // medians of these, and of those in which none was
    double time_ns = 0;                            // of all of them, of all ranks
    Percentiles length;
    // Of their time, on all GPUs that were timed; none: none was.
    std::optional<double> compute, exposed, memory, idle;
    bool hides_collectives =
        false;  // its graphs hold some: these count as compute, and `exposed` is not known
};

struct ServingFigures {
    std::string program, why;  // training, serving, not known
    double confidence = 0;
    double time_ns = 0;
    std::vector<KindOfIteration> kinds;                // most time first; none: no iterations were found
    Percentiles tokens;                                // from one token of a sequence to its next
    bool knows_waits = true;                           // else communication holds waits for peers, too
    bool marks_requests = false;                       // so it is known when there was none
    std::vector<std::pair<std::string, double>> idle;  // why, share of the time; largest first

    bool serves() const { return program == "serving"; }
    bool has_iterations() const { return serves() && !kinds.empty(); }
    int64_t iterations() const;
    double per_second() const;  // iterations of one rank
    const KindOfIteration* of(const char* kind) const;
    double idle_share(std::string_view cause) const;
    std::string words_of(std::string_view cause) const;  // "the host between iterations"
};

const ServingFigures& serving_figures(const ReportSource& source);  // asked once, kept with the source

}  // namespace gpushim::analysis
