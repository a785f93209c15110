// What the parts of a step take: input, forward, backward, communication, optimizer. On the GPU where steps
// were timed as a whole; else so long as the host took to launch them.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../failure.h"
#include "../text/units.h"
#include "counted.h"
#include "facts.h"
#include "section.h"

namespace gpushim::analysis::section_phases {

namespace {

constexpr double kWorthShowing = 0.5;  // below this confidence people are not told, programs are

// In the order of a step; of a file that names others these come last.
constexpr const char* kOrder[] = {"input", "forward", "backward", "communication"};

int place_of(const std::string& name) {
    return static_cast<int>(std::find(std::begin(kOrder), std::end(kOrder), name) - std::begin(kOrder));
}

// As SQLite adds: a damaged file may say any number.
int64_t sum_of(int64_t a, int64_t b) {
    int64_t sum = 0;
    if (__builtin_add_overflow(a, b, &sum)) throw Failure("phases of steps: integer overflow", kUsage);
    return sum;
}

struct PhaseInStep {  // one that comes twice counts with both
    int64_t ns = 0;
    std::optional<int64_t> device_ns = 0;  // none: not all of it was timed
    std::optional<double> confidence = {};

    void add(int64_t dur_ns, std::optional<int64_t> ran_ns, std::optional<double> sure) {
        ns = sum_of(ns, dur_ns);
        device_ns = device_ns && ran_ns ? std::optional(sum_of(*device_ns, *ran_ns)) : std::nullopt;
        if (sure) confidence = std::min(confidence.value_or(*sure), *sure);
    }
};

struct PhaseSums {
    int64_t ns = 0, device_ns = 0, timed = 0;  // timed: in steps of which all phases were
    double confidence = 0;
    int64_t sure = 0;  // have one

    std::optional<double> mean_confidence() const {
        return sure > 0 ? std::optional(confidence / static_cast<double>(sure)) : std::nullopt;
    }
};

struct AllPhases {
    std::map<std::string, PhaseSums> by_name = {};
    int64_t timed_steps = 0, steps = 0;
    std::set<int64_t> ranks = {};

    // What they took on the GPU is a mean of the steps in which all of it was timed; of a phase that none of
    // these has nothing is known.
    void add_step(int64_t rank_id, const std::map<std::string, PhaseInStep>& step) {
        if (step.empty()) return;
        const bool is_timed = std::all_of(
            step.begin(), step.end(), [](const auto& phase) { return phase.second.device_ns.has_value(); });
        ++steps;
        timed_steps += is_timed;
        ranks.insert(rank_id);
        for (const auto& [name, phase] : step) {
            PhaseSums& sums = by_name[name];
            sums.ns = sum_of(sums.ns, phase.ns);
            sums.confidence += phase.confidence.value_or(0);
            sums.sure += phase.confidence.has_value();
            if (!is_timed) continue;
            sums.device_ns = sum_of(sums.device_ns, *phase.device_ns);
            ++sums.timed;
        }
    }
    std::vector<std::pair<std::string, PhaseSums>> in_order() const {
        std::vector<std::pair<std::string, PhaseSums>> all(by_name.begin(), by_name.end());
        std::stable_sort(all.begin(), all.end(),
                         [](const auto& a, const auto& b) { return place_of(a.first) < place_of(b.first); });
        return all;
    }
};

AllPhases phases_of(const ReportSource& source) {
    const CountedLengths& counted = counted_lengths(source);
    AllPhases all;
    std::map<std::string, PhaseInStep> step;
    std::pair<int64_t, int64_t> at;
    Query row = source.run.prepare(
        "SELECT rank_id, step, name, dur_ns, device_ns, confidence FROM phase ORDER BY rank_id, step");
    while (row.step()) {
        const std::pair<int64_t, int64_t> here(row.number(0), row.number(1));
        if (here != at) {
            all.add_step(at.first, std::exchange(step, {}));
            at = here;
        }
        if (!step.empty() || counted.find(here.first, here.second) != nullptr)
            step[row.text(2)].add(row.number(3), row.maybe(4), row.maybe_real(5));
    }
    all.add_step(at.first, step);
    return all;
}

void write(const ReportSource& source, Report& report) {
    Json list = Json::array();
    std::string launching, running;
    double sure_ns = 0, all_ns = 0;  // each phase by the time that it takes
    const AllPhases all = phases_of(source);
    for (const auto& named : all.in_order()) {
        const std::string& name = named.first;
        const PhaseSums& sums = named.second;
        const int64_t ns = sums.ns / all.steps;
        const auto device_ns =
            sums.timed > 0 ? std::optional(sums.device_ns / all.timed_steps) : std::nullopt;
        const auto confidence = sums.mean_confidence();
        list.push(Facts()
                      .known("name", name)
                      .known("ns_per_step", ns)
                      .maybe("device_ns_per_step", device_ns, "its operations have no device times")
                      .known("device_steps", all.timed_steps)
                      .maybe("confidence", confidence, "not recorded")
                      .json());
        const auto took_ns = static_cast<double>(device_ns.value_or(ns));
        sure_ns += confidence.value_or(0) * took_ns;
        all_ns += took_ns;
        const auto add = [&](std::string& text, int64_t of_step_ns) {
            if (of_step_ns == 0) return;
            text += (text.empty() ? "" : " + ") + name + " " + duration_text(static_cast<double>(of_step_ns));
        };
        add(launching, ns);
        if (device_ns) add(running, *device_ns);
    }
    report.json.set("phases", std::move(list));
    const bool is_timed = all.timed_steps > 0;
    const double sure = all_ns > 0 ? sure_ns / all_ns : 0;
    if ((is_timed ? running : launching).empty() || sure < kWorthShowing) return;
    std::string where = is_timed ? "on GPUs" : "to launch it";
    if (is_timed && all.timed_steps < all.steps)
        where += " in " + count_text(all.timed_steps) + " of " + count_text(all.steps) +
                 (all.ranks.size() > 1
                      ? " steps of " + count_text(static_cast<int64_t>(all.ranks.size())) + " ranks"
                      : " steps");
    report.line("PHASES     " + (is_timed ? running : launching) + " (" + where + ", " + sure_text(sure) +
                ")");
}

constexpr Section kSection = {"phases", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_phases
