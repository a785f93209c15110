// Code is loaded after warm-up: a new shape makes the framework compile again.
#include <algorithm>
#include <set>
#include <vector>

#include "../advice/rule.h"
#include "../text/units.h"

namespace gpushim::analysis::rule_recompilation {

namespace {

constexpr Causes kLoads = {"alloc_or_load", "slow_call"};
constexpr Causes kCompiles = {"alloc_or_load", "slow_call",    "framework",        "operator_cpu",
                              "python",        "callback",     "interpreter_lock", "garbage_collection",
                              "host_cpu",      "host_blocked", "host_unknown",     "between_launches"};

// Samples are of all steps: those of steps that load code only where these have most of such time.
std::string seen_in(const Situation& run, const Gain& gain) {
    return 2 * gain.high_ns >= run.what_if().idle_ns(kCompiles) ? run.seen_in(kCompiles) : "";
}

// How long steps that load code take, of those that were timed, and the others: what is compiled around the
// loads is between the two.
class Lengths {
  public:
    void add(const GpuInStep& gpu) {
        (gpu.loads_code ? loading_ns_ : others_ns_).push_back(gpu.own_ns());
        if (gpu.loads_code) loading_.insert(gpu.number);
    }

    bool are_some() const { return !loading_ns_.empty() && loading_ns_.size() < others_ns_.size(); }
    std::string text() {
        const auto count = static_cast<int64_t>(loading_.size());
        return (count == 1 ? "; the one step that loads code takes "
                           : "; the " + count_text(count) + " steps that load code take ") +
               duration_text(middle(loading_ns_)) + ", the others " + duration_text(middle(others_ns_)) +
               " (medians)";
    }

  private:
    static double middle(std::vector<double>& of) {
        const auto at = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
        std::nth_element(of.begin(), at, of.end());
        return *at;
    }

    std::vector<double> loading_ns_, others_ns_;  // own work, of the busiest GPU of each rank
    std::set<int64_t> loading_;                   // their numbers
};

std::optional<Finding> look(const Situation& run) {
    Query row = run.ask(
        "SELECT rowid, after_warm_up, after_warm_up_ns FROM load_stat"
        " WHERE after_warm_up > 0 ORDER BY after_warm_up_ns DESC LIMIT 1");
    if (!row.step()) return {};
    Finding found;
    found.title = "code was loaded " + count_text(row.number(1)) + " times after warm-up, " +
                  duration_text(row.real(2)) + " in all";
    found.try_it = run.advice({run.serving().is_so() ? "recompilation.serving" : "recompilation"});
    // Compiling itself is the host's work around the loads: of a step, not of whatever stretch was timed.
    Lengths lengths;
    run.what_if().each([&](const GpuInStep& gpu) { lengths.add(gpu); });
    found.gain = run.what_if().shorter([is_step = run.has_steps()](const GpuInStep& gpu) {
        if (!gpu.loads_code) return Gain{};
        return Gain{gpu.idle_ns(kLoads) * gpu.sure_share(), gpu.idle_ns(is_step ? kCompiles : kLoads)};
    });
    found.in_some_steps = run.has_steps() && lengths.are_some();
    if (found.in_some_steps) found.title += lengths.text();
    found.where = seen_in(run, found.gain);
    found.confidence = 0.7;
    found.evidence = {{"load_stat", row.number(0)}};
    return found;
}

constexpr Heading kHeading = {"compile-bound", "Code loaded after warm-up",
                              "the GPU waits while code is compiled or loaded", "fewer shapes"};
const RuleRegistration kRegistration({"recompilation", Scope::kOneGpu, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_recompilation
