#include "traffic.h"

#include <algorithm>
#include <map>

#include "../collective/expected.h"

namespace gpushim::analysis {

namespace {

// A GPU in one step, in ns.
struct Share {
    double transfer_ns, exposed_ns;
    double lonely_compute_ns;  // no transfer beside it
};
using Shares = std::map<std::pair<int64_t, int64_t>, Share>;  // by gpu_id, step

// Classes: 1 and 256 compute, 2 a transfer, 4 a wait for other ranks.
Shares shares_of(const Situation& run) {
    Shares shares;
    Query row = run.ask(
        "SELECT gpu_id, step, sum(CASE WHEN classes & 2 > 0 THEN ns ELSE 0 END),"
        " sum(CASE WHEN classes & 2 > 0 AND classes & ~6 = 0 THEN ns ELSE 0 END),"
        " sum(CASE WHEN classes & 257 > 0 AND classes & 2 = 0 THEN ns ELSE 0 END)"
        " FROM activity GROUP BY gpu_id, step");
    while (row.step()) shares[{row.number(0), row.number(1)}] = {row.real(2), row.real(3), row.real(4)};
    return shares;
}

Share share_of(const Shares& shares, const GpuInStep& gpu) {
    const auto found = shares.find({gpu.gpu_id, gpu.step});
    return found == shares.end() ? Share{} : found->second;
}

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

std::vector<Evidence> Traffic::evidence(const std::vector<const CollectiveKind*>& of) const {
    std::vector<Evidence> rows;
    for (const CollectiveKind* kind : of)
        if (rows.size() < 3) rows.push_back({"collective_stat", kind->rowid});
    return rows;
}

Exposed exposed_communication(const Situation& run) {
    Query row = run.ask(
        "SELECT sum(CASE WHEN a.classes & 2 > 0 AND a.classes & ~6 = 0 THEN a.ns ELSE 0 END) AS transfer_ns,"
        " sum(CASE WHEN a.classes = 4 THEN a.ns ELSE 0 END),"
        " sum(CASE WHEN a.classes & 257 > 0 THEN a.ns ELSE 0 END), sum(a.ns), count(DISTINCT a.step)"
        " FROM v_gpu_basis b JOIN activity a ON a.gpu_id = b.gpu_id AND a.step = b.step"
        " GROUP BY b.gpu_id ORDER BY transfer_ns DESC, b.gpu_id LIMIT 1");
    if (!row.step() || row.real(3) <= 0) return {};
    const double each = run.has_steps() ? 1 / row.real(4) : 1e9 / row.real(3);
    return {row.real(0) * each, row.real(1) * each, row.real(2) * each};
}

Gain without_transfers(const Situation& run, double low_share, double high_share) {
    const Shares shares = shares_of(run);
    return run.what_if().shorter([&](const GpuInStep& gpu) {
        const Share share = share_of(shares, gpu);
        return Gain{low_share * share.exposed_ns, std::min(share.exposed_ns, high_share * share.transfer_ns)};
    });
}

Gain less_exposed(const Situation& run, double low_share, double high_share) {
    const Shares shares = shares_of(run);
    return run.what_if().shorter([&](const GpuInStep& gpu) {
        const double exposed_ns = share_of(shares, gpu).exposed_ns;
        return Gain{low_share * exposed_ns, high_share * exposed_ns};
    });
}

Gain transfers_hidden(const Situation& run, double share, double low_compute_share, double left_share) {
    const Shares shares = shares_of(run);
    return run.what_if().shorter([&](const GpuInStep& gpu) {
        const Share of = share_of(shares, gpu);
        const double exposed_ns = share * of.exposed_ns, compute_ns = of.lonely_compute_ns;
        const double left_ns = left_share * share * of.transfer_ns;
        return Gain{std::min(std::max(0.0, exposed_ns - left_ns), low_compute_share * compute_ns),
                    std::min(exposed_ns, compute_ns)};
    });
}

}  // namespace gpushim::analysis
