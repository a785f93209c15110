#include "busy_union.h"

#include <map>
#include <string>

#include "../../../shim/schema/flags.h"
#include "../../trace/event_tables.h"

namespace gpushim::analysis {

namespace {

// What was launched before the step may run on into it; a step before it is far enough.
std::string operations_sql() {
    std::string sql;
    for (const std::string table : kOperationTables) {
        if (!sql.empty()) sql += " UNION ALL ";
        sql += "SELECT t.enter_ns, t.stream_id, d.start_offset_ns, d.dur_ns FROM " + table + " t LEFT JOIN " +
               table + "_device d ON d.enter_ns = t.enter_ns WHERE t.enter_ns BETWEEN ?1 AND ?2 AND " +
               kRan.sql("t");
        if (table == "copy") sql += " AND t.direction IS NOT 5";
    }
    return sql;
}

// By device. False: something has no device times.
bool read_busy(const BusySpan& span, std::map<int64_t, Intervals>& by_device) {
    if (!span.facts->trace->base.has("launch_device")) return false;
    std::map<int64_t, int64_t> device_of_stream;
    for (const Lane& lane : span.facts->lanes) device_of_stream[lane.stream_id] = lane.device_id;
    Query query = span.facts->trace->base.prepare(operations_sql());
    query.bind(1, span.step.start_ns - span.step.length_ns());
    query.bind(2, span.step.end_ns);
    while (query.step()) {
        const bool timed = !query.is_null(2) && !query.is_null(3);
        if (!timed && query.number(0) >= span.step.start_ns) return false;
        const auto device = device_of_stream.find(query.maybe(1).value_or(-1));
        if (!timed || device == device_of_stream.end()) continue;
        const int64_t start_ns = query.number(0) + query.number(2);
        const Intervals in_it = clip({{start_ns, start_ns + query.number(3)}}, span.step);
        auto& all = by_device[device->second];
        all.insert(all.end(), in_it.begin(), in_it.end());
    }
    return true;
}

}  // namespace

std::optional<BusyTogether> busy_together(std::span<const BusySpan> spans) {
    BusyTogether result = {{}, 0};
    std::vector<Interval> all;
    for (const BusySpan& span : spans) {
        std::map<int64_t, Intervals> by_device;
        if (!read_busy(span, by_device)) return {};
        for (auto& [device, busy] : by_device) {
            const Intervals united = unite(std::move(busy));
            if (united.empty()) continue;
            result.busy_ns.push_back(length_ns(united));
            for (const Interval& one : united)
                all.push_back({one.start_ns + span.offset_ns, one.end_ns + span.offset_ns});
        }
    }
    result.union_ns = length_ns(unite(std::move(all)));
    return result;
}

}  // namespace gpushim::analysis
