#include "dropped_spans.h"

namespace gpushim::analysis {

Intervals dropped_spans(const Trace& trace) {
    if (trace.base.is_of_first_schema()) return {};
    std::vector<Interval> spans;
    // The first slot may have begun before the trace.
    Query query = trace.base.prepare(
        "SELECT max(from_ns, coalesce((SELECT value FROM meta WHERE key = 'started_mono_ns'), from_ns)),"
        " until_ns FROM summarised");
    while (query.step()) spans.push_back({query.number(0), query.number(1)});
    return unite(std::move(spans));
}

Intervals rest_spans(const Trace& trace) {
    if (trace.base.is_of_first_schema()) return {};
    std::vector<Interval> spans;
    // What the process did after it had come to rest for good ends with the last sign of it.
    Query query = trace.base.prepare(
        "SELECT enter_ns, kind FROM marker WHERE kind IN ('rest', 'resume') AND enter_ns >= ?1 UNION ALL"
        " SELECT max(at_ns), 'resume' FROM (SELECT max(enter_ns) AS at_ns FROM marker"
        "  UNION ALL SELECT max(mono_ns) FROM clock) ORDER BY 1");
    query.bind(1, trace.from_ns);
    int64_t from_ns = INT64_MIN;  // it does not rest
    while (query.step()) {
        if (query.text(1) == "rest") {
            if (from_ns == INT64_MIN) from_ns = query.number(0);
        } else if (from_ns != INT64_MIN) {
            if (query.number(0) > from_ns) spans.push_back({from_ns, query.number(0)});
            from_ns = INT64_MIN;
        }
    }
    return unite(std::move(spans));
}

}  // namespace gpushim::analysis
