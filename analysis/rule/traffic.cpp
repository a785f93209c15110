#include "traffic.h"

#include <algorithm>
#include <string_view>

#include "../collective/expected.h"

namespace gpushim::analysis {

namespace {

// What its calls should take by a bandwidth that was given now, else as it was analysed.
void expect(const Situation& run, const std::optional<double>& analysed_with, CollectiveKind& kind) {
    const auto& given = run.given().bandwidth_bytes_per_s;
    kind.bandwidth_bytes_per_s = given ? given : analysed_with;
    const auto op = operation_named(kind.op);
    if (!given || *given <= 0 || !op) return;
    const double latency_ns = 0;
    kind.expected_ns =
        kind.expected_ns && analysed_with
            ? *kind.expected_ns * *analysed_with / *given
            : static_cast<double>(expected_ring_ns(*op, kind.bytes, kind.ranks, *given / 1e9, latency_ns));
}

}  // namespace

std::optional<double> CollectiveKind::data_ns() const {
    const auto known = operation_named(op);
    if (!known || !bandwidth_bytes_per_s || *bandwidth_bytes_per_s <= 0) return {};
    return bus_factor(*known, ranks) * static_cast<double>(bytes) * 1e9 / *bandwidth_bytes_per_s;
}

// Communicators of some of the GPUs count for their part of all GPUs; those of ranks that were not seen as if
// they had been.
Traffic::Traffic(const Situation& run) {
    Query row = run.ask(
        "SELECT rowid, comm, op, coalesce(whole_bytes, bytes), ranks, count,"
        " CAST(transfer_sum_ns AS REAL) / timed, bandwidth_bytes_per_s, expected_ns,"
        " coalesce(efficiency_by, '') NOT IN ('few_instances', 'spread')"
        " FROM collective_stat WHERE ranks > 1 AND timed > 0 AND transfer_sum_ns IS NOT NULL"
        " AND coalesce(whole_bytes, bytes) IS NOT NULL ORDER BY transfer_sum_ns DESC, comm, op");
    while (row.step()) {
        const auto gpus = static_cast<double>(std::max<int64_t>(1, run.gpus()));
        const double part = std::min(1.0, row.real(4) / gpus);
        CollectiveKind kind = {row.number(0),
                               row.text(1),
                               row.text(2),
                               row.number(3),
                               row.number(4),
                               run.counted(row.real(5)) * part,
                               row.real(6),
                               {},
                               {},
                               row.number(9) != 0};
        if (!row.is_null(8)) kind.expected_ns = row.real(8);
        expect(run, row.is_null(7) ? std::nullopt : std::optional(row.real(7)), kind);
        kinds.push_back(std::move(kind));
    }
}

double Traffic::ns() const {
    double sum_ns = 0;
    for (const CollectiveKind& kind : kinds) sum_ns += kind.ns();
    return sum_ns;
}

std::string Traffic::operations(const std::vector<const CollectiveKind*>& of) {
    constexpr std::string_view kPrefix = "nccl";
    std::vector<std::string> names;
    for (const CollectiveKind* kind : of) {
        const auto known = operation_named(kind->op);
        const std::string_view api = known ? facts_of(*known).api : std::string_view();
        const std::string name(api.starts_with(kPrefix) ? api.substr(kPrefix.size()) : kind->op);
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    std::string text;
    for (size_t i = 0; i < names.size(); ++i)
        text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
    return text;
}

std::vector<Evidence> Traffic::evidence(const std::vector<const CollectiveKind*>& of) const {
    std::vector<Evidence> rows;
    for (const CollectiveKind* kind : of)
        if (rows.size() < 3) rows.push_back({"collective_stat", kind->rowid});
    return rows;
}

Exposed exposed_communication(const Situation& run) {
    const GpuTotal* most = nullptr;
    for (const GpuTotal& total : run.basis().totals())
        if (most == nullptr || total.ns(WhatRan::exposed_transfer) > most->ns(WhatRan::exposed_transfer))
            most = &total;
    if (most == nullptr || most->ns(WhatRan::window) <= 0) return {};
    const double each =
        run.has_steps() ? 1 / static_cast<double>(most->steps) : run.step_ns() / most->real(WhatRan::window);
    return {most->real(WhatRan::exposed_transfer) * each, most->real(WhatRan::waiting_for_peer) * each,
            most->real(WhatRan::compute) * each};
}

Gain without_transfers(const Situation& run, double low_share, double high_share) {
    return run.what_if().shorter([&](const GpuInStep& gpu) {
        const auto exposed_ns = static_cast<double>(gpu.exposed_transfer_ns);
        const auto transfer_ns = static_cast<double>(gpu.transfer_ns);
        return Gain{low_share * exposed_ns, std::min(exposed_ns, high_share * transfer_ns)};
    });
}

Gain less_exposed(const Situation& run, double low_share, double high_share) {
    return run.what_if().shorter([&](const GpuInStep& gpu) {
        const auto exposed_ns = static_cast<double>(gpu.exposed_transfer_ns);
        return Gain{low_share * exposed_ns, high_share * exposed_ns};
    });
}

Gain transfers_hidden(const Situation& run, double share, double low_compute_share, double left_share) {
    return run.what_if().shorter([&](const GpuInStep& gpu) {
        const double exposed_ns = share * static_cast<double>(gpu.exposed_transfer_ns);
        const auto compute_ns = static_cast<double>(gpu.compute_beside_no_transfer_ns);
        const double left_ns = left_share * share * static_cast<double>(gpu.transfer_ns);
        return Gain{std::min(std::max(0.0, exposed_ns - left_ns), low_compute_share * compute_ns),
                    std::min(exposed_ns, compute_ns)};
    });
}

}  // namespace gpushim::analysis
