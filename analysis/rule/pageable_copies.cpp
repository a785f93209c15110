// Batches come from memory that is not pinned: the driver copies them into its own first, while the launching
// thread waits and nothing else can run.
#include <algorithm>

#include "../advice/rule.h"
#include "../advice/work.h"
#include "../text/units.h"

namespace gpushim::analysis::rule_pageable_copies {

namespace {

constexpr const char* kSlow = "c.kind = 'h2d' AND (c.source = 'pageable' OR c.blocking = 1)";

// Of a run without steps nobody knows which are batches: results count as well, if together they fill so much
// of the time. Below that they may be the copies of a start.
constexpr const char* kSlowOfRun =
    "(c.kind = 'h2d' AND (c.source = 'pageable' OR c.blocking = 1))"
    " OR (c.kind = 'd2h' AND c.target = 'pageable')";
constexpr double kFills = 0.5, kSecondNs = 1e9;
constexpr Heading kOfRun = {"copy-bound", "Copies of pageable memory",
                            "the GPU waits for copies from and to pageable memory",
                            "pinned memory, or data that stays on the GPU"};

// The best that a pinned copy of some size reached here, in bytes per second.
std::optional<double> pinned_rate(const Situation& run) {
    return run.real(
        "SELECT max(c.best_bytes_per_s) FROM copy_stat c"
        " WHERE c.kind = 'h2d' AND c.source = 'pinned' AND c.max_bytes >= 1048576");
}

// Where no pinned copy tells how fast the link is, it may be PCIe 3.0 of 16 lanes.
constexpr double kSlowLinkBytesPerS = 12.5e9;

Factor shorter_if_unseen(double cost_ns, double bytes) {
    const Factor usual = factor("pinned_unseen");
    if (bytes <= 0) return {0, usual.high};  // sizes are not recorded
    const double on_slow_link = 1 - bytes * 1e9 / kSlowLinkBytesPerS / cost_ns;
    return {std::clamp(on_slow_link, 0.0, usual.low), usual.high};
}

// By what share of what it costs now a copy becomes shorter. Low: part of the rest is not won.
Factor shorter_if_pinned(double cost_ns, double bytes, std::optional<double> pinned) {
    if (!pinned || bytes <= 0) return shorter_if_unseen(cost_ns, bytes);
    const double share = std::max(0.0, 1 - bytes * 1e9 / *pinned / cost_ns);
    return {0.8 * share, share};
}

// Some profilers do not tell sizes, of which nothing follows then.
std::string amount_text(const Work& copies) {
    return copies.bytes > 0 ? bytes_text(copies.bytes) : "what is copied (its size is not recorded)";
}

std::optional<Finding> of_run(const Situation& run) {
    const Work copies = copies_of_run_where(run, kSlowOfRun);
    if (copies.ns < kFills * kSecondNs) return {};
    Finding found;
    found.title = amount_text(copies) + " from and to pageable memory in a second" +
                  (copies.bytes > 0 ? " take " : " takes ") + duration_text(copies.ns) +
                  " in which the GPU does nothing else";
    found.try_it = run.advice({"pageable_copies"});
    found.gain = copies.shorter_by(shorter_if_unseen(copies.ns, copies.bytes), run);
    found.confidence = 0.7;
    found.evidence = copies.evidence;
    found.heading = &kOfRun;
    return found;
}

std::optional<Finding> look(const Situation& run) {
    if (!run.is_per_step()) return of_run(run);
    const Work copies = copies_where(run, kSlow);
    const double cost_ns = copies.ns + run.what_if().idle_ns({"copy_staging"});
    if (copies.count <= 0 || cost_ns <= 0) return {};
    const bool is_pageable = run.number(
                                    "SELECT 1 FROM copy_stat c WHERE c.source = 'pageable' AND"
                                    " c.position >= 0 AND " +
                                    std::string(kSlow))
                                 .has_value();
    const auto pinned = pinned_rate(run);
    const Factor share = shorter_if_pinned(cost_ns, copies.bytes, pinned);
    const Gain staging = run.what_if().without({"copy_staging"});
    const Gain copying = copies.shorter_by({1, 1}, run);
    Finding found;
    found.title = amount_text(copies) + " to the device in a " + run.per() +
                  (is_pageable ? " from pageable memory" : " by calls that block") +
                  (copies.bytes > 0 ? " take " : " takes ") + duration_text(cost_ns) +
                  " in which the GPU does nothing else";
    if (copies.bytes > 0) found.title += ", at " + rate_text(copies.bytes * 1e9 / cost_ns);
    if (pinned) found.title += " (pinned here: " + rate_text(*pinned) + ")";
    found.try_it = run.advice({"pageable_copies"});
    found.gain = {(staging.low_ns + copying.low_ns) * share.low,
                  (staging.high_ns + copying.high_ns) * share.high};
    found.confidence = pinned ? 0.9 : 0.7;
    found.evidence = copies.evidence;
    for (const Evidence& row : run.gaps_of({"copy_staging"})) found.evidence.push_back(row);
    return found;
}

constexpr Heading kHeading = {"copy-bound", "Copies that block",
                              "the GPU waits for copies from pageable memory", "pinned memory"};
const RuleRegistration kRegistration({"pageable_copies", Scope::kInput, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_pageable_copies
