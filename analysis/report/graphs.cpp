// How many kernels ran as parts of graphs, and of how many launches of graphs that is not known.
#include "../../shim/schema/flags.h"
#include "../text/units.h"
#include "section.h"

namespace gpushim::analysis::section_graphs {

namespace {

struct Graphs {
    int64_t launches = 0;
    int64_t not_recorded = 0;  // launches of graphs that do not say what they hold
    int64_t kernels = 0;
    int64_t assumed = 0;  // updates that were not looked at
};

Graphs graphs_of(const Inputs& inputs) {
    Graphs sum;
    for (const Trace& trace : inputs.traces) {
        Query query = trace.base.prepare(
            trace.base.is_of_first_schema()
                ? "SELECT count(*), count(*) - count(g.kernels), coalesce(sum(g.kernels), 0)"
                  " FROM graph_launch l LEFT JOIN graph g ON g.id = l.graph_id WHERE " +
                      kRan.sql("l")
                : "SELECT coalesce(sum(t.events), 0),"
                  " coalesce(sum(t.events) FILTER (WHERE g.kernels IS NULL), 0),"
                  " coalesce(sum(t.events * g.kernels), 0) FROM series s"
                  " JOIN v_series_total t ON t.series_id = s.id LEFT JOIN graph g ON g.id = s.graph_id"
                  " WHERE s.kind = 'graph_launch' AND " +
                      kRan.sql("s"));
        if (!query.step()) continue;
        sum.launches += query.number(0);
        sum.not_recorded += query.number(1);
        sum.kernels += query.number(2);
        Query assumed = trace.base.prepare("SELECT value FROM meta WHERE key = 'graphs_assumed'");
        if (assumed.step()) sum.assumed += assumed.number(0);
    }
    return sum;
}

void write(const ReportSource& source, Report& report) {
    if (source.traces == nullptr) return;
    const Graphs graphs = graphs_of(*source.traces);
    if (graphs.launches != 0)
        report.line("  " + count_text(graphs.launches) + " launches of graphs ran " +
                    count_text(graphs.kernels) + " kernels" +
                    (graphs.not_recorded == 0 ? ""
                                              : "; what " + count_text(graphs.not_recorded) +
                                                    " of them contained is not recorded"));
    if (graphs.assumed != 0)
        report.line("  " + count_text(graphs.assumed) +
                    " updates of graphs were not examined, to save the program's time: the kernels and bytes "
                    "after them are inferred from before");
    report.json.set("graphs", Json::object({{"launches", graphs.launches},
                                            {"not_recorded", graphs.not_recorded},
                                            {"kernels", graphs.kernels},
                                            {"updates_inferred", graphs.assumed}}));
}

constexpr Section kSection = {"graphs", write, true};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_graphs
