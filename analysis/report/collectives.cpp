// What collectives took: transfer and wait, the bandwidths they reached, and what was to be expected.
#include <algorithm>
#include <cmath>

#include "../collective/expected.h"
#include "../text/escape.h"
#include "../text/units.h"
#include "facts.h"
#include "section.h"

namespace gpushim::analysis::section_collectives {

namespace {

constexpr size_t kMostRows = 4;

struct Kind {
    std::optional<std::string> comm, dtype, source, between_source, model, transfer_by;
    std::string op, efficiency_by, unexpected;
    std::optional<int64_t> bytes, ranks, whole_bytes, hosts;
    int64_t count, timed, complete;
    std::optional<int64_t> transfer_ns, wait_ns, simple_ns, ring_ns, expected_ns;
    std::optional<double> algbw, busbw, busbw_incl_wait, bandwidth, between, efficiency;
    std::optional<double> latency_ns;  // of a round
    std::optional<int64_t> latency_bytes;

    // The part of what is expected that does not depend on the size.
    std::optional<int64_t> expected_latency_ns() const {
        const auto named = operation_named(op);
        if (!named || !ranks || !latency_ns || !expected_ns || model != name_of(ExpectedModel::ring))
            return {};
        return expected_ring_ns(*named, 0, *ranks, 1, *latency_ns);
    }
};

// What the person says of bandwidths now wins over what the run was analysed with.
void expect_by(const ReportOptions& options, Kind& kind) {
    const auto op = operation_named(kind.op);
    const auto given = options.bandwidth_bytes_per_s, between = options.between_bytes_per_s;
    if (!op || !kind.ranks || !kind.bytes || !kind.whole_bytes || (!given && !between)) return;
    const bool on_hosts = kind.hosts.value_or(1) > 1 && *kind.ranks > *kind.hosts;
    ExpectedBy by;
    by.model = expected_model(kind.model.value_or("")).value_or(ExpectedModel::ring);
    if (given) {
        kind.bandwidth = given;
        kind.source = "given";
    }
    if (between && on_hosts && *op == CollectiveOp::all_reduce && by.model == ExpectedModel::ring && given)
        by.model = ExpectedModel::two_level;
    if (between && by.model == ExpectedModel::two_level) {
        kind.between = between;
        kind.between_source = "given";
    }
    if (!kind.bandwidth || *kind.bandwidth <= 0) return;
    by.gb_per_s = *kind.bandwidth / 1e9;
    by.latency_ns = kind.latency_ns.value_or(0);
    by.hosts = kind.hosts.value_or(1);
    by.between_gb_per_s = kind.between.value_or(0) / 1e9;
    kind.model = std::string(name_of(by.model));
    kind.simple_ns = expected_simple_ns(*kind.bytes, *kind.ranks, by.gb_per_s);
    kind.ring_ns = expected_ring_ns(*op, *kind.whole_bytes, *kind.ranks, by.gb_per_s, by.latency_ns);
    kind.expected_ns = expected_ns(*op, *kind.whole_bytes, *kind.ranks, by);
}

std::optional<std::string> maybe_text(const Query& row, int column) {
    return row.is_null(column) ? std::nullopt : std::optional(row.text(column));
}

std::vector<Kind> kinds_of(const ReportSource& source) {
    std::vector<Kind> all;
    Query row = source.run.prepare(
        "SELECT comm, dtype, bandwidth_source, between_source, expected_by, transfer_by, op,"
        " coalesce(efficiency_by, ''), coalesce(expected_why, ''), bytes, ranks, coalesce(whole_bytes, "
        "bytes),"
        " hosts, count, timed, complete, transfer_p50_ns, wait_p50_ns, expected_simple_ns, expected_ring_ns,"
        " expected_ns, algbw_bytes_per_s, busbw_bytes_per_s, busbw_incl_wait_bytes_per_s,"
        " bandwidth_bytes_per_s, between_bytes_per_s, efficiency, latency_ns, latency_bytes FROM "
        "collective_stat"
        " ORDER BY coalesce(transfer_sum_ns, 0) DESC, bytes * count DESC, comm, op, dtype");
    while (row.step()) {
        const auto text = [&](int column) { return maybe_text(row, column); };
        const auto real = [&](int column) { return maybe_real(row, column); };
        all.push_back({text(0),        text(1),       text(2),       text(3),        text(4),
                       text(5),        row.text(6),   row.text(7),   row.text(8),    row.maybe(9),
                       row.maybe(10),  row.maybe(11), row.maybe(12), row.number(13), row.number(14),
                       row.number(15), row.maybe(16), row.maybe(17), row.maybe(18),  row.maybe(19),
                       row.maybe(20),  real(21),      real(22),      real(23),       real(24),
                       real(25),       real(26),      real(27),      row.maybe(28)});
        expect_by(source.options, all.back());
    }
    return all;
}

std::string why_untimed(const Kind& kind) {
    if (kind.timed == 0 && kind.complete > 0) return "none has device times";
    if (!kind.ranks) return "not recorded: which ranks took part";
    if (kind.complete == 0) return "none was seen on all of its ranks";
    return *kind.ranks <= 1 ? "one rank: nothing is transferred" : "several calls in one kernel, or no data";
}

std::string why_unexpected(const Kind& kind) {
    if (!kind.unexpected.empty()) return kind.unexpected;
    if (!kind.bytes) return "not recorded: the number of bytes";
    return kind.ranks.value_or(2) <= 1 ? "one rank: nothing is transferred"
                                       : "no bandwidth is known: --bandwidth 300GB/s";
}

// What it was called with, as far as that is known.
void add_call(const Kind& kind, Facts& facts) {
    const char* const by_name = "not recorded: only the kernel's name is known";
    facts.maybe("comm", kind.comm, by_name)
        .known("op", kind.op)
        .maybe("dtype", kind.dtype, by_name)
        .maybe("bytes", kind.bytes, by_name)
        .maybe("ranks", kind.ranks, by_name)
        .maybe("hosts", kind.hosts, "not recorded on all ranks: the host")
        .known("count", kind.count)
        .known("timed", kind.timed)
        .known("complete", kind.complete);
}

// Of what is expected the part for the rounds' latency, and how that is known.
void add_latency(const Kind& kind, Facts& facts) {
    const char* const none =
        kind.ranks.value_or(2) <= 1
            ? "one rank: nothing is transferred"
            : "not known: no message below 256 KiB was timed on all ranks of the communicator";
    facts.maybe("latency_ns", kind.latency_ns, none).maybe("latency_bytes", kind.latency_bytes, none);
    facts.maybe("expected_latency_ns", kind.expected_latency_ns(),
                !kind.expected_ns ? why_unexpected(kind)
                : !kind.latency_ns
                    ? std::string(none)
                    : "expected by " + kind.model.value_or("another model") + ", which has no latency term");
}

void add_expected(const Kind& kind, Facts& facts) {
    const std::string why = why_unexpected(kind);
    const std::string one_level =
        !kind.unexpected.empty() ? kind.unexpected : "no time was expected by two levels";
    facts.maybe("expected_simple_ns", kind.simple_ns, why)
        .maybe("expected_ring_ns", kind.ring_ns, why)
        .maybe("expected_ns", kind.expected_ns, why)
        .maybe("expected_by", kind.model, why)
        .maybe("bandwidth_bytes_per_s", kind.bandwidth, why)
        .maybe("bandwidth_source", kind.source, why)
        .maybe("between_bytes_per_s", kind.between, one_level)
        .maybe("between_source", kind.between_source, one_level);
    add_latency(kind, facts);
}

Json json_of(const Kind& kind) {
    const std::string why = why_untimed(kind);
    Facts facts;
    add_call(kind, facts);
    facts.maybe("transfer_p50_ns", kind.transfer_ns, why)
        .maybe("transfer_by", kind.transfer_by, why)
        .maybe("wait_p50_ns", kind.wait_ns, why)
        .maybe("algbw_bytes_per_s", kind.algbw, why)
        .maybe("busbw_bytes_per_s", kind.busbw, why)
        .maybe("busbw_incl_wait_bytes_per_s", kind.busbw_incl_wait, why);
    add_expected(kind, facts);
    return facts
        .maybe("efficiency", kind.efficiency,
               kind.efficiency_by.empty() ? "nothing was expected" : kind.efficiency_by)
        .json();
}

std::string about(const std::optional<int64_t>& ns) {
    return ns ? duration_text(static_cast<double>(*ns)) : "-";
}

// A ring where nothing else is said.
std::string expected_text(const Kind& kind) {
    const std::string model = kind.model.value_or("ring");
    if (!kind.expected_ns || model == "ring") return about(kind.expected_ns);
    return about(kind.expected_ns) + (model == "two_level" ? " over hosts" : " by " + model);
}

std::vector<std::string> cells_of(const Kind& kind) {
    return {for_terminal(kind.op),
            kind.dtype ? for_terminal(*kind.dtype) : "-",
            kind.bytes ? bytes_text(static_cast<double>(*kind.bytes)) : "-",
            kind.ranks ? count_text(*kind.ranks) : "-",
            count_text(kind.count),
            about(kind.transfer_ns),
            about(kind.wait_ns),
            kind.busbw ? rate_text(*kind.busbw) : "-",
            expected_text(kind)};
}

// Above this section is what AllReduce of the gradients came to: here are others, and what it is made of.
void write(const ReportSource& source, Report& report) {
    std::vector<std::vector<std::string>> table = {
        {"COLLECTIVES", "type", "size", "ranks", "count", "transfer", "wait", "bus", "expected"}};
    Json list = Json::array();
    for (const Kind& kind : kinds_of(source)) {
        list.push(json_of(kind));
        table.push_back(cells_of(kind));
    }
    report.json.set("collectives", std::move(list));
    if (table.size() > 1) report.table("llrrrrrrr", std::move(table), kMostRows);
}

constexpr Section kSection = {"collectives", write, true};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_collectives
