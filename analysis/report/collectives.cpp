// What collectives took: transfer and wait, the bandwidths they reached, and what was to be expected.
#include <algorithm>
#include <cmath>

#include "../collective/expected.h"
#include "../text/escape.h"
#include "../text/units.h"
#include "facts.h"
#include "section.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kMostRows = 4;

struct Kind {
    std::string comm, op, dtype, source;
    int64_t bytes, ranks, count, timed, complete, whole_bytes;
    std::optional<int64_t> transfer_ns, wait_ns, simple_ns, ring_ns;
    std::optional<double> algbw, busbw, busbw_incl_wait, bandwidth, efficiency;
    std::string efficiency_by;
};

// What the person says of the bandwidth now wins over what the run was analysed with.
void expect_by(double bytes_per_s, Kind& kind) {
    const auto op = operation_named(kind.op);
    if (!op || bytes_per_s <= 0) return;
    kind.bandwidth = bytes_per_s;
    kind.source = "given";
    kind.simple_ns = kind.ranks <= 1 ? 0 : expected_simple_ns(kind.bytes, kind.ranks, bytes_per_s / 1e9);
    kind.ring_ns = expected_ring_ns(*op, kind.whole_bytes, kind.ranks, bytes_per_s / 1e9, 0);
}

std::vector<Kind> kinds_of(const ReportSource& source) {
    std::vector<Kind> all;
    Query row = source.run.prepare(
        "SELECT comm, op, coalesce(dtype, ''), coalesce(bandwidth_source, ''), bytes, ranks, count, timed,"
        " complete, coalesce(whole_bytes, bytes), transfer_p50_ns, wait_p50_ns, expected_simple_ns,"
        " expected_ring_ns, algbw_bytes_per_s, busbw_bytes_per_s, busbw_incl_wait_bytes_per_s,"
        " bandwidth_bytes_per_s, efficiency, coalesce(efficiency_by, '') FROM collective_stat"
        " ORDER BY coalesce(transfer_sum_ns, 0) DESC, bytes * count DESC, comm, op, dtype");
    while (row.step()) {
        all.push_back({row.text(0),         row.text(1),         row.text(2),         row.text(3),
                       row.number(4),       row.number(5),       row.number(6),       row.number(7),
                       row.number(8),       row.number(9),       row.maybe(10),       row.maybe(11),
                       row.maybe(12),       row.maybe(13),       maybe_real(row, 14), maybe_real(row, 15),
                       maybe_real(row, 16), maybe_real(row, 17), maybe_real(row, 18), row.text(19)});
        if (source.options.bandwidth_bytes_per_s)
            expect_by(*source.options.bandwidth_bytes_per_s, all.back());
    }
    return all;
}

std::string why_untimed(const Kind& kind) {
    if (kind.timed == 0) return "none has device times";
    if (kind.complete == 0) return "none was seen on all its ranks";
    return kind.ranks <= 1 ? "one rank: nothing is transferred" : "several calls in one kernel, or no data";
}

Json json_of(const Kind& kind) {
    const std::string why = why_untimed(kind);
    const char* const unexpected =
        kind.ranks <= 1 ? "one rank: nothing is transferred" : "no bandwidth is known: --bandwidth 300GB/s";
    const auto source = kind.source.empty() ? std::nullopt : std::optional(kind.source);
    return Facts()
        .known("comm", kind.comm)
        .known("op", kind.op)
        .known("dtype", kind.dtype)
        .known("bytes", kind.bytes)
        .known("ranks", kind.ranks)
        .known("count", kind.count)
        .known("timed", kind.timed)
        .known("complete", kind.complete)
        .maybe("transfer_p50_ns", kind.transfer_ns, why)
        .maybe("wait_p50_ns", kind.wait_ns, why)
        .maybe("algbw_bytes_per_s", kind.algbw, why)
        .maybe("busbw_bytes_per_s", kind.busbw, why)
        .maybe("busbw_incl_wait_bytes_per_s", kind.busbw_incl_wait, why)
        .maybe("expected_simple_ns", kind.simple_ns, unexpected)
        .maybe("expected_ring_ns", kind.ring_ns, unexpected)
        .maybe("bandwidth_bytes_per_s", kind.bandwidth, unexpected)
        .maybe("bandwidth_source", source, unexpected)
        .maybe("efficiency", kind.efficiency,
               kind.efficiency_by.empty() ? "nothing was expected" : kind.efficiency_by)
        .json();
}

std::string about(const std::optional<int64_t>& ns) {
    return ns ? duration_text(static_cast<double>(*ns)) : "-";
}

// Above this section is what AllReduce of the gradients came to: here are others, and what it is made of.
void write(const ReportSource& source, Report& report) {
    std::vector<std::vector<std::string>> table = {
        {"COLLECTIVES", "type", "size", "ranks", "count", "transfer", "wait", "bus", "expected"}};
    Json list = Json::array();
    for (const Kind& kind : kinds_of(source)) {
        list.push(json_of(kind));
        table.push_back({for_terminal(kind.op), for_terminal(kind.dtype),
                         bytes_text(static_cast<double>(kind.bytes)), count_text(kind.ranks),
                         count_text(kind.count), about(kind.transfer_ns), about(kind.wait_ns),
                         kind.busbw ? rate_text(*kind.busbw) : "-", about(kind.ring_ns)});
    }
    report.json.set("collectives", std::move(list));
    if (table.size() > 1) report.table("llrrrrrrr", std::move(table), kMostRows);
}

constexpr Section kSection = {31, write, true};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis
