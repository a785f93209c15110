// Whether the bytes that a step reduces fit the model's parameters, and whether that takes as long as it
// should.
#include <cstdio>

#include "../collective/expected.h"
#include "../text/units.h"
#include "../to_int64.h"
#include "facts.h"
#include "section.h"

namespace gpushim::analysis::section_allreduce {

namespace {

struct Around {  // the collectives of a step
    std::optional<int64_t> ns;
    std::string why = "not recorded";
};

struct Check {
    bool is_there = false;
    std::optional<int64_t> params, expected_ns, measured_ns;
    std::optional<double> implied, bytes, calls, ratio, tiny, bandwidth, between;
    std::optional<int64_t> ranks, hosts;  // of what was expected by two levels
    std::optional<int64_t> batches;       // of a step, each of which reduces as much
    bool sharded = false;
    std::string why, bandwidth_source, between_source, levels_why;
    Around pack, unpack;
};

Around around(const Database& run, const char* metric) {
    Query row = run.prepare("SELECT value, coalesce(why, '') FROM metric WHERE scope = 'run' AND name = ?1");
    row.bind(1, std::string(metric));
    if (!row.step()) return {};
    return {to_int64(maybe_real(row, 0)), row.text(1)};
}

// What expectations of the collectives that took longest were made with.
void read_bandwidth(const Database& run, Check& check) {
    Query row = run.prepare(
        "SELECT bandwidth_bytes_per_s, coalesce(bandwidth_source, ''), coalesce(expected_why, ''),"
        " coalesce(expected_by, ''), between_bytes_per_s, coalesce(between_source, ''), ranks, hosts"
        " FROM collective_stat WHERE bandwidth_bytes_per_s IS NOT NULL OR expected_why IS NOT NULL"
        " ORDER BY coalesce(transfer_sum_ns, 0) DESC LIMIT 1");
    if (!row.step()) return;
    check.bandwidth = maybe_real(row, 0);
    check.bandwidth_source = row.text(1);
    check.levels_why = row.text(2);
    if (row.text(3) != name_of(ExpectedModel::two_level)) return;
    check.between = maybe_real(row, 4);
    check.between_source = row.text(5);
    check.ranks = row.maybe(6);
    check.hosts = row.maybe(7);
}

// The bytes that are expected: of the parameters, where they are known.
int64_t expected_again_ns(const Check& check) {
    const double bytes = *check.bytes / (check.ratio && *check.ratio > 0 ? *check.ratio : 1);
    return expected_ns(
        CollectiveOp::all_reduce, to_int64(bytes), *check.ranks,
        {ExpectedModel::two_level, *check.bandwidth / 1e9, 0, *check.hosts, *check.between / 1e9});
}

// What the person says now wins: the ratio follows from what the bytes imply, time from bandwidth.
void apply(const ReportOptions& options, Check& check) {
    if (options.params) {
        check.params = options.params;
        check.ratio =
            check.implied ? share_of(*check.implied, static_cast<double>(*options.params)) : std::nullopt;
    }
    const bool is_two_level = check.between && check.bytes && check.expected_ns;
    if (options.bandwidth_bytes_per_s && check.bandwidth && check.expected_ns)
        check.expected_ns = to_int64(static_cast<double>(*check.expected_ns) * *check.bandwidth /
                                     *options.bandwidth_bytes_per_s);
    if (options.bandwidth_bytes_per_s) {
        check.bandwidth = options.bandwidth_bytes_per_s;
        check.bandwidth_source = "given";
    }
    if (!is_two_level) return;
    if (options.between_bytes_per_s) {
        check.between = options.between_bytes_per_s;
        check.between_source = "given";
    }
    if (options.bandwidth_bytes_per_s || options.between_bytes_per_s)
        check.expected_ns = expected_again_ns(check);
}

Check check_of(const ReportSource& source) {
    Check check;
    Query row = source.run.prepare(
        "SELECT params, params_implied, sharded, bytes_per_step, calls_per_step, ratio_to_params,"
        " expected_ns, measured_ns, tiny_calls_per_step, coalesce(why, '') FROM allreduce_check");
    if (!row.step()) return check;
    check.is_there = true;
    check.pack = around(source.run, "pack_ns");
    check.unpack = around(source.run, "unpack_ns");
    check.params = row.maybe(0);
    check.implied = maybe_real(row, 1);
    check.sharded = row.number(2) != 0;
    check.bytes = maybe_real(row, 3);
    check.calls = maybe_real(row, 4);
    check.ratio = maybe_real(row, 5);
    check.expected_ns = row.maybe(6);
    check.measured_ns = row.maybe(7);
    check.tiny = maybe_real(row, 8);
    check.why = row.text(9);
    Query batches = source.run.prepare("SELECT batches FROM v_reduced_batches");
    if (batches.step()) check.batches = batches.maybe(0);
    read_bandwidth(source.run, check);
    apply(source.options, check);
    return check;
}

Json json_of(const Check& check) {
    const std::string none = !check.why.empty() ? check.why
                             : check.is_there   ? "no AllReduce in the steps that count"
                                                : "no collectives were recorded";
    const std::string untimed =
        check.bytes ? "the collectives of these steps do not have device times on all ranks" : none;
    return Facts()
        .maybe("params", check.params, "--params was not given")
        .maybe("params_implied", check.implied, none)
        .maybe("bytes_per_step", check.bytes, none)
        .maybe("calls_per_step", check.calls, none)
        .maybe("tiny_calls_per_step", check.tiny, none)
        .maybe("ratio_to_params", check.ratio, check.params ? none : "--params was not given")
        .maybe("expected_ns", check.expected_ns,
               !check.bytes || !check.why.empty() ? none : "no bandwidth is known: --bandwidth 300GB/s")
        .maybe("measured_ns", check.measured_ns, untimed)
        .maybe("pack_ns", check.pack.ns, check.pack.why)
        .maybe("unpack_ns", check.unpack.ns, check.unpack.why)
        .known("sharded", check.sharded)
        .json();
}

// "11,689,512 parameters"; where each batch reduces as much, "4 batches x 11,689,512 parameters".
std::string implied_text(const Check& check) {
    const int64_t batches = check.batches.value_or(1);
    return (batches > 1 ? count_text(batches) + " batches x " : "") +
           count_text(to_int64(*check.implied / static_cast<double>(batches))) + " parameters";
}

constexpr double kModel = 1000;  // parameters: fewer are no model's, but a loss or a time step

// "46.8 MB/step = 1.00 x 11,689,512 parameters x 4 bytes, 2 calls".
std::string volume_text(const Check& check) {
    std::string text = bytes_text(*check.bytes) + "/step";
    const auto width =
        check.implied && *check.implied > 0 ? std::optional(*check.bytes / *check.implied) : std::nullopt;
    const std::string bytes = width ? " x " + figure_text("%.3g", *width) + " bytes" : "";
    if (check.params && check.ratio)
        text += " = " + figure_text("%.2f", *check.ratio) + " x " + count_text(*check.params) +
                " parameters" + bytes;
    else if (check.implied && *check.implied >= kModel)
        text += " = " + implied_text(check) + bytes + " (implied; --params checks it)";
    if (check.calls)
        text += ", " + figure_text("%.3g", *check.calls) + (*check.calls == 1 ? " call" : " calls");
    if (check.sharded) text += ", sharded";
    return text;
}

// "at 300 GB/s (measured) within hosts, 50.0 GB/s (given) between 2".
std::string bandwidth_text(const Check& check) {
    std::string text = " at " + rate_text(*check.bandwidth) + " (" + check.bandwidth_source + ")";
    if (check.between)
        text += " within hosts, " + rate_text(*check.between) + " (" + check.between_source + ") between " +
                count_text(*check.hosts);
    return text;
}

std::string time_line(const Check& check) {
    std::string text;
    if (check.expected_ns)
        text = "expected " + duration_text(static_cast<double>(*check.expected_ns)) +
               (check.bandwidth ? bandwidth_text(check) : "");
    if (check.measured_ns) {
        text += (text.empty() ? "" : ", ") + std::string("measured ") +
                duration_text(static_cast<double>(*check.measured_ns));
        if (check.expected_ns && *check.expected_ns > 0)
            text += " (" +
                    figure_text("%.2f", static_cast<double>(*check.measured_ns) /
                                            static_cast<double>(*check.expected_ns)) +
                    "x)";
    }
    return text;
}

// "packed in 1.20 ms, unpacked in 0.80 ms (12 % of the step)"; empty: it is not worth a word.
std::string pack_text(const Check& check, const ReportSource& source) {
    constexpr double kWorthMentioning = 0.01;
    Query step = source.run.prepare(
        "SELECT value FROM metric WHERE scope = 'run' AND name = 'step_median_ns' AND value > 0");
    if (!check.pack.ns || !check.unpack.ns || !step.step()) return "";
    const auto pack_ns = static_cast<double>(*check.pack.ns),
               unpack_ns = static_cast<double>(*check.unpack.ns);
    const auto share = share_of(pack_ns + unpack_ns, step.real(0));
    if (!share || *share < kWorthMentioning) return "";
    return "packed in " + duration_text(pack_ns) + ", unpacked in " + duration_text(unpack_ns) + " (" +
           percent_text(*share) + " of the step)";
}

void write(const ReportSource& source, Report& report) {
    const Check check = check_of(source);
    report.json.set("allreduce_check", json_of(check));
    if (!check.bytes || *check.bytes <= 0) return;
    report.line("ALLREDUCE  " + volume_text(check));
    if (const std::string times = time_line(check); !times.empty()) report.line("           " + times);
    if (!check.levels_why.empty()) report.line("           " + check.levels_why);
    if (const std::string pack = pack_text(check, source); !pack.empty()) report.line("           " + pack);
}

constexpr Section kSection = {"allreduce", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_allreduce
