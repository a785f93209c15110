// Where every event went, before anything is said about any of them.
#include <map>
#include <set>

#include "../text/units.h"
#include "section.h"

namespace gpushim::analysis {

namespace {

struct Ledger {
    int64_t produced = 0, recorded = 0, recovered = 0, dropped = 0, unfinished = 0, unknown = 0;
    std::map<std::string, int64_t> reasons;
};

Ledger ledger_of(const Inputs& inputs) {
    Ledger sum;
    for (const Trace& trace : inputs.traces) {
        Query query = trace.base.prepare(
            "SELECT produced, recorded, recovered, dropped, unfinished, unknown FROM v_ledger");
        int64_t* const numbers[] = {&sum.produced, &sum.recorded,   &sum.recovered,
                                    &sum.dropped,  &sum.unfinished, &sum.unknown};
        while (query.step())
            for (int i = 0; i < query.columns(); ++i) *numbers[i] += query.number(i);
        Query drops = trace.base.prepare("SELECT reason, events FROM v_drop WHERE events > 0");
        while (drops.step()) sum.reasons[drops.text(0)] += drops.number(1);
    }
    return sum;
}

void write(const Inputs& inputs, Report& report) {
    const Ledger sum = ledger_of(inputs);
    std::string reasons;
    Json dropped = Json::object();
    for (const auto& [reason, events] : sum.reasons) {
        reasons += (reasons.empty() ? " (" : ", ") + reason + " " + count_text(events);
        dropped.set(reason, events);
    }
    if (!reasons.empty()) reasons += ")";
    report.line("events  " + count_text(sum.produced) + " produced = " + count_text(sum.recorded) +
                " recorded + " + count_text(sum.recovered) + " recovered + " + count_text(sum.dropped) +
                " dropped" + reasons + " + " + count_text(sum.unfinished) + " unfinished; unknown " +
                count_text(sum.unknown));

    std::set<int64_t> ranks;
    std::optional<int64_t> expected;
    for (const Trace& trace : inputs.traces) {
        if (trace.rank) ranks.insert(*trace.rank);
        if (trace.world_size) expected = std::max(expected.value_or(0), *trace.world_size);
    }
    Json ledger = Json::object();
    ledger.set("produced", sum.produced);
    ledger.set("recorded", sum.recorded);
    ledger.set("dropped", std::move(dropped));
    ledger.set("recovered", sum.recovered);
    ledger.set("unfinished", sum.unfinished);
    ledger.set("unknown", sum.unknown);
    ledger.set("traces", inputs.traces.size());
    ledger.set("ranks_seen", ranks.size());
    ledger.set("ranks_expected", expected);
    report.json.set("ledger", std::move(ledger));
}

constexpr Section kSection = {0, write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis
