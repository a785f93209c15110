// What only traces say of how far figures can be trusted: how sure the rows are, what was refused.
#pragma once

#include "facts.h"
#include "section.h"

namespace gpushim::analysis {

struct TrustRows {
    bool recorded = false;   // any trace is of a schema that has device times
    bool rows_gone = false;  // some: what counts rows is of those left, and windows are at least so many
    int64_t queued = 0, unqueued = 0, host = 0;  // rows
    int64_t legacy_events = 0;
    int64_t barriers = 0;             // of them, where streams that wait for the legacy stream were used
    bool has_latency = false;         // of a launch, calibrated
    std::optional<int64_t> grain_ns;  // of stamps, as it is in the bounds; of several the coarsest
    struct Refusal {
        std::string rank, api, why;
        std::optional<int64_t> error;
    };
    std::vector<Refusal> refusals;
    std::vector<Refusal> unanswered;   // `why`: what is not known
    bool by_cupti = true;              // all that have device times
    std::vector<std::string> sources;  // what CUPTI did not give, with its trace
};

TrustRows trust_rows_of(const Inputs& inputs);
void write_trust_rows(const TrustRows& rows, bool all, Report& report, Facts& facts);

}  // namespace gpushim::analysis
