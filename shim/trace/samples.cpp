#include "samples.h"

#include <algorithm>

namespace gpushim::shim {
namespace {

// ?1, ?2: the span. ?3: whether one stays.
constexpr const char* kThinning[] = {
    "DELETE FROM clock WHERE mono_ns > (SELECT min(mono_ns) FROM clock WHERE mono_ns >= ?1) AND mono_ns < ?2"
    " AND ?3 NOTNULL",
    "DELETE FROM nvml WHERE mono_ns >= ?1 AND mono_ns < ?2 AND (NOT ?3 OR mono_ns >"
    " (SELECT min(n.mono_ns) FROM nvml n WHERE n.mono_ns >= ?1 AND n.device_id = nvml.device_id))",
    "DELETE FROM device_clock WHERE mono_ns >= ?1 AND mono_ns < ?2 AND (NOT ?3 OR mono_ns >"
    " (SELECT min(d.mono_ns) FROM device_clock d WHERE d.mono_ns >= ?1 AND"
    " d.context_id = device_clock.context_id))",
    // Sums first, at the place of one of them that then stays.
    "REPLACE INTO cost SELECT max(mono_ns), sum(span_ns), sum(events), sum(hook_ns), sum(device_time_ns),"
    " sum(host_state_ns), sum(busiest_ns), sum(harvest_ns), sum(writer_cpu_ns) FROM cost"
    " WHERE mono_ns >= ?1 AND mono_ns < ?2 AND ?3 NOTNULL HAVING count(*) > 1",
    "DELETE FROM cost WHERE mono_ns >= ?1 AND mono_ns < (SELECT max(mono_ns) FROM cost WHERE mono_ns < ?2)"
    " AND ?3 NOTNULL",
    "REPLACE INTO \"window\" SELECT min(enter_ns), device_id, sum(dur_ns), NULL, sum(planned_ns),"
    " sum(operations), sum(timed), sum(legacy_events), sum(own_host_ns) FROM \"window\""
    " WHERE enter_ns >= ?1 AND enter_ns < ?2 AND ?3 NOTNULL GROUP BY device_id HAVING count(*) > 1",
    "DELETE FROM \"window\" WHERE enter_ns > (SELECT min(w.enter_ns) FROM \"window\" w WHERE w.enter_ns >= ?1"
    " AND w.device_id = \"window\".device_id) AND enter_ns < ?2 AND ?3 NOTNULL",
    // Cumulative: the newest row counts.
    "DELETE FROM \"drop\" WHERE seen_ns >= ?1 AND seen_ns < ?2 AND ?3 NOTNULL AND EXISTS (SELECT 1 FROM"
    " \"drop\" d WHERE d.ring_id = \"drop\".ring_id AND d.reason = \"drop\".reason AND"
    " d.seen_ns > \"drop\".seen_ns)",
};

constexpr const char* kNth[] = {
    "SELECT mono_ns FROM clock WHERE mono_ns >= ?1 AND mono_ns < ?2 ORDER BY mono_ns LIMIT 1 OFFSET ?3",
    "SELECT mono_ns FROM nvml WHERE mono_ns >= ?1 AND mono_ns < ?2 ORDER BY mono_ns LIMIT 1 OFFSET ?3",
};

constexpr const char* kCount =
    "SELECT (SELECT count(*) FROM clock) + (SELECT count(*) FROM nvml) + (SELECT count(*) FROM device_clock)"
    " + (SELECT count(*) FROM cost) + (SELECT count(*) FROM \"window\")";

}  // namespace

Samples::Samples(Database& base)
    : gone_(base.prepare("SELECT from_ns, until_ns FROM summarised WHERE from_ns < ?2 AND until_ns > ?1")),
      count_(base.prepare(kCount)) {
    for (const char* sql : kThinning) thinning_.push_back(base.prepare(sql));
    for (const char* sql : kNth) nth_.push_back(base.prepare(sql));
}

void Samples::thin(int64_t from_ns, int64_t until_ns, bool one_stays) {
    for (Statement& statement : thinning_)
        statement.bind(1, from_ns).bind(2, until_ns).bind(3, one_stays ? 1 : 0).step();
}

bool Samples::thin_some(int64_t from_ns, int64_t until_ns, bool one_stays, int64_t most_rows) {
    int64_t end_ns = until_ns;
    for (Statement& nth : nth_) {
        nth.bind(1, from_ns).bind(2, end_ns).bind(3, most_rows);
        if (!nth.step()) continue;
        end_ns = nth.number(0) + 1;
        nth.step();
    }
    thin(from_ns, end_ns, one_stays);
    return end_ns == until_ns;
}

std::vector<Samples::Span> Samples::gone_in(int64_t from_ns, int64_t until_ns) {
    std::vector<Span> spans;
    gone_.bind(1, from_ns).bind(2, until_ns);
    while (gone_.step())
        spans.push_back({std::max(from_ns, gone_.number(0)), std::min(until_ns, gone_.number(1))});
    return spans;
}

void Samples::thin_what_is_gone(int64_t from_ns, int64_t until_ns) {
    for (const Span& span : gone_in(from_ns, until_ns)) thin(span.from_ns, span.until_ns, true);
}

int64_t Samples::count() {
    count_.step();
    const int64_t rows = count_.number(0);
    count_.step();
    return rows;
}

}  // namespace gpushim::shim
