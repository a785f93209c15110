// Where every event went, before anything is said about any of them.
#include "../text/units.h"
#include "../trace/ended.h"
#include "../trace/placeless.h"
#include "../trace/unknown_abi.h"
#include "facts.h"
#include "section.h"

namespace gpushim::analysis::section_ledger {

namespace {

Json dropped_of(const Database& run, std::string& reasons) {
    Json dropped = Json::object();
    Query query = run.prepare(
        "SELECT reason, sum(events) AS events FROM \"drop\" GROUP BY reason HAVING sum(events) > 0"
        " ORDER BY reason");
    while (query.step()) {
        reasons += (reasons.empty() ? " (" : ", ") + query.text(0) + " " + count_text(query.number(1));
        dropped.set(query.text(0), query.number(1));
    }
    if (!reasons.empty()) reasons += ")";
    return dropped;
}

void write(const ReportSource& source, Report& report) {
    std::string reasons;
    Json dropped = dropped_of(source.run, reasons);
    Query sums = source.run.prepare(
        "SELECT sum(produced), sum(recorded), sum(recovered), sum(dropped), sum(unfinished), sum(unknown),"
        " count(*), count(DISTINCT rank), max(world_size) FROM rank");
    sums.step();
    const auto told = [&](int column) {
        return sums.is_null(column) ? "not recorded" : count_text(sums.number(column));
    };
    const bool all_well = sums.number(3) + sums.number(4) + sums.number(5) == 0;
    if (!all_well || source.options.all)
        report.line("events  " + told(0) + " produced = " + told(1) + " recorded + " + told(2) +
                    " recovered + " + told(3) + " dropped" + reasons + " + " + told(4) +
                    " unfinished; unknown " + told(5));

    const auto unknown_abi = source.number("unknown_abi");
    if (unknown_abi.value_or(0) > 0) report.line("        " + unknown_abi_text(*unknown_abi));

    const auto not_ended = source.number("not_ended");
    if (not_ended.value_or(0) > 0) report.line("        " + not_ended_text(*not_ended));

    const auto placeless = source.number("placeless_operations");
    if (placeless.value_or(0) > 0)
        report.line("        " + placeless_text(*placeless) + ": they are in no figure of a GPU");

    const char* const none = "the traces do not say";
    const auto expected = sums.is_null(8) ? source.number("ranks_expected") : sums.maybe(8);
    report.json.set("ledger",
                    Facts()
                        .maybe("produced", sums.maybe(0), none)
                        .maybe("recorded", sums.maybe(1), none)
                        .known("dropped", std::move(dropped))
                        .maybe("recovered", sums.maybe(2), none)
                        .maybe("unfinished", sums.maybe(4), none)
                        .maybe("unknown", sums.maybe(5), none)
                        .maybe("unknown_abi", unknown_abi, "not all traces say")
                        .maybe("not_ended", not_ended, "not all traces say")
                        .maybe("placeless_operations", placeless, "the run was made by an older version")
                        .known("traces", source.number("traces").value_or(sums.number(6)))
                        .known("ranks_seen", sums.number(7))
                        .maybe("ranks_expected", expected, "no trace knows how many there are")
                        .json());
}

constexpr Section kSection = {"ledger", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_ledger
