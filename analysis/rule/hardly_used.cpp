// While steps ran every GPU was in use for less than half of the time, drew less than half of its power, and
// had less than half of its memory taken: a smaller one, or a part of it, would do. What that saves is money
// and not time, so this is a note.
#include <algorithm>
#include <cstdio>

#include "../advice/rule.h"
#include "../text/units.h"

namespace gpushim::analysis::rule_hardly_used {

namespace {

constexpr int64_t kFewestSamples = 3;
constexpr double kLittle = 0.5;  // of the time, the power and the memory

struct Use {
    int64_t rowid;
    double time_share, power_share, memory_share;

    double most() const { return std::max({time_share, power_share, memory_share}); }
};

// The GPU of which most is used. None: of one of them something is not known.
std::optional<Use> most_used(const Situation& run) {
    std::optional<Use> most;
    Query row = run.ask(
        "SELECT n.rowid, n.use_share, n.power_w / nullif(e.power_limit_w, 0), n.memory_share_max"
        " FROM gpu g LEFT JOIN nvml_stat n ON n.gpu_id = g.gpu_id AND n.samples >= ?1"
        " LEFT JOIN gpu_energy e ON e.gpu_id = g.gpu_id");
    row.bind(1, kFewestSamples);
    while (row.step()) {
        if (row.is_null(0) || row.is_null(1) || row.is_null(2) || row.is_null(3)) return {};
        const Use use = {row.number(0), row.real(1), row.real(2), row.real(3)};
        if (!most || use.most() > most->most()) most = use;
    }
    return most;
}

std::optional<Finding> look(const Situation& run) {
    const auto most = most_used(run);
    if (!most || most->most() >= kLittle) return {};
    char text[160];
    std::snprintf(
        text, sizeof text,
        "by NVML the GPU that is used most is in use %.0f %% of the time, draws %.0f %% of its power, "
        "and has %.0f %% of its memory taken",
        most->time_share * 100, most->power_share * 100, most->memory_share * 100);
    Finding found;
    found.title = text;
    found.try_it = run.advice({"hardly_used"});
    found.confidence = 0.6;
    found.kind = Kind::kNote;
    found.evidence = {{"nvml_stat", most->rowid}};
    return found;
}

constexpr Heading kHeading = {"hardly used", "A GPU that is hardly used", "", ""};
const RuleRegistration kRegistration({"hardly_used", Scope::kOneGpu, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_hardly_used
