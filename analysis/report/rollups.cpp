#include "rollups.h"

#include <algorithm>

namespace gpushim::analysis {

namespace {

// Four buckets to an octave, from 4 ns on; below, one for each.
int64_t middle_of(unsigned bucket) {
    if (bucket < 4) return bucket;
    const unsigned octave = bucket / 4 + 1;
    const int64_t quarter = int64_t{1} << (octave - 2);
    return (int64_t{1} << octave) + quarter * (bucket % 4) + quarter / 2;
}

}  // namespace

bool is_summarised(const Trace& trace) {
    if (trace.base.is_of_first_schema()) return false;
    Query query = trace.base.prepare("SELECT 1 FROM summarised LIMIT 1");
    return query.step();
}

void add_rollups(const Trace& trace, const std::map<int64_t, Distribution*>& by_series) {
    Query rows = trace.base.prepare("SELECT series_id, calls, sum_ns, histogram, min_ns, max_ns FROM rollup");
    while (rows.step()) {
        const auto found = by_series.find(rows.number(0));
        if (found == by_series.end()) continue;
        Distribution& times = *found->second;
        times.add_total(rows.number(2), rows.number(1));
        const int64_t least_ns = rows.number(4), most_ns = rows.number(5);
        for_each_bucket(rows.text(3), [&](int64_t ns, int64_t calls) {
            if (least_ns == most_ns)
                times.add_all_alike(least_ns, calls);
            else
                times.add_rough(std::min(ns, most_ns), calls);
        });
    }
}

void for_each_bucket(std::string_view histogram, const std::function<void(int64_t ns, int64_t calls)>& take) {
    size_t at = 0;
    const auto next = [&] { return static_cast<uint8_t>(histogram[at++]); };
    while (at < histogram.size()) {
        const unsigned bucket = next();
        uint64_t calls = 0;
        bool is_whole = false;
        for (int shift = 0; !is_whole && shift < 63 && at < histogram.size(); shift += 7) {
            const uint8_t byte = next();
            calls |= uint64_t{byte & 0x7fu} << shift;
            is_whole = byte < 0x80;
        }
        if (!is_whole || bucket > 4 * 61 + 3) return;
        take(middle_of(bucket), static_cast<int64_t>(calls & INT64_MAX));
    }
}

}  // namespace gpushim::analysis
