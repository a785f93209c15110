#include "gone.h"

namespace gpushim::analysis {

Intervals gone_spans(const Trace& trace) {
    if (trace.base.is_of_first_schema()) return {};
    std::vector<Interval> spans;
    // The first slot may have begun before the trace.
    Query query = trace.base.prepare(
        "SELECT max(from_ns, coalesce((SELECT value FROM meta WHERE key = 'started_mono_ns'), from_ns)),"
        " until_ns FROM summarised");
    while (query.step()) spans.push_back({query.number(0), query.number(1)});
    return unite(std::move(spans));
}

}  // namespace gpushim::analysis
