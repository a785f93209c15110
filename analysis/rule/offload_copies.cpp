// A server's copies over the bus fill the time: weights that are not kept on the device, or a cache that is
// moved out and in.
#include <algorithm>

#include "../advice/rule.h"
#include "../text/units.h"

namespace gpushim::analysis::rule_offload_copies {

namespace {

constexpr double kMuch = 0.05;  // of an iteration, in copies that nothing hides
constexpr double kLowShare = 0.3;
constexpr double kComesBack = 0.2;  // of what goes in: weights are only read

// What one iteration alone copied is the model on its way to the GPU.
constexpr const char* kComesAgain = "steps <> 1";

// Of a mean iteration, on the GPU that has most.
double copied_bytes(const Situation& run, const std::string& kind) {
    return run.counted(run.real("SELECT max(b) FROM (SELECT sum(bytes) * 1.0 AS b FROM copy_stat WHERE " +
                                std::string(kComesAgain) + " AND kind = '" + kind + "' GROUP BY gpu_id)")
                           .value_or(0));
}

double share_that_comes_again(const Situation& run) {
    return run
        .real("SELECT sum(CASE WHEN " + std::string(kComesAgain) +
              " THEN bytes ELSE 0 END) * 1.0 / nullif(sum(bytes), 0) FROM copy_stat"
              " WHERE kind IN ('h2d', 'd2h')")
        .value_or(0);
}

// Copies within a GPU, and between GPUs, do not go over the bus.
double share_over_bus(const Situation& run) {
    return run
        .real(
            "SELECT sum(CASE WHEN kind IN ('h2d', 'd2h') THEN blocks_kernels_ns ELSE 0 END) * 1.0"
            " / nullif(sum(blocks_kernels_ns), 0) FROM copy_stat")
        .value_or(1);
}

std::optional<Finding> look(const Situation& run) {
    double exposed_ns = 0;
    for (const auto& [gpu, ns] : run.only_copies_ns()) exposed_ns = std::max(exposed_ns, ns);
    exposed_ns *= share_that_comes_again(run) * share_over_bus(run);
    if (run.step_ns() <= 0 || exposed_ns < kMuch * run.step_ns()) return {};
    const double in = copied_bytes(run, "h2d"), out = copied_bytes(run, "d2h");
    const bool is_cache = out > kComesBack * in;
    Finding found;
    found.gain = {kLowShare * exposed_ns, exposed_ns};
    found.title = bytes_text(in) + " to the GPU" + (is_cache ? " and " + bytes_text(out) + " from it" : "") +
                  " in an iteration: nothing else runs for " + duration_text(exposed_ns) + " of it; " +
                  (is_cache ? "a cache that is moved out and in" : "weights that are not kept on the device");
    found.try_it = run.advice({is_cache ? "offload_copies.cache" : "offload_copies.weights"});
    found.confidence = 0.7;
    found.evidence = run.rows("copy_stat", "SELECT rowid FROM copy_stat ORDER BY bytes DESC LIMIT 1");
    return found;
}

constexpr Heading kHeading = {"copy-bound", "Copies over the bus",
                              "copies over the bus run and nothing else does",
                              "keeping on the device what is copied"};
const RuleRegistration kRegistration({"offload_copies", Scope::kInput, look, kHeading, Programs::serving});

}  // namespace

}  // namespace gpushim::analysis::rule_offload_copies
