#include "product_rate.h"

#include "../text/units.h"

namespace gpushim::analysis {

namespace {

// Of a part of the run; v_product_rate is of all of it. Processes that share a GPU add up.
std::optional<double> flops_per_s_of_asked(const ReportSource& source) {
    Query row = source.of_steps(
        "WITH rate AS (SELECT gpu_id, sum(flops) * 1e9 / nullif(sum(dur_ns), 0) AS flops_per_s,"
        " sum(flops) > 0 AS has_any"
        " FROM v_product_step WHERE number BETWEEN ?1 AND ?2 GROUP BY gpu_id)"
        " SELECT CASE WHEN max(r.has_any) = 1 THEN sum(r.flops_per_s) END / count(DISTINCT g.gpu_id) FROM "
        "gpu_peak g JOIN"
        " (SELECT u.gpu_id, coalesce(s.shared_id, u.gpu_id) AS shared_id FROM gpu u"
        "  LEFT JOIN shared_gpu s ON s.gpu_id = u.gpu_id) w ON w.shared_id = g.gpu_id"
        " LEFT JOIN rate r ON r.gpu_id = w.gpu_id");
    return row.step() ? maybe_real(row, 0) : std::nullopt;
}

}  // namespace

ProductRate product_rate(const ReportSource& source) {
    Query row = source.run.prepare(
        "SELECT flops_per_gpu_s, peak_flops_per_gpu_s, covered_share, why_no_flops, why_no_share,"
        " why_no_covered FROM v_product_rate");
    if (!row.step()) return {{}, {}, {}, "no GPU ran kernels", "no GPU ran kernels", "no GPU ran kernels"};
    ProductRate rate = {{}, {}, maybe_real(row, 2), row.text(3), row.text(4), row.text(5)};
    auto flops_per_s = maybe_real(row, 0);
    if (flops_per_s && source.is_part_of_run()) flops_per_s = flops_per_s_of_asked(source);
    if (!flops_per_s) {
        if (rate.why_no_rate.empty())
            rate.why_no_rate = rate.why_no_share = "no product was recorded in these steps";
        return rate;
    }
    rate.tflops = *flops_per_s / 1e12;
    if (!rate.why_no_share.empty()) return rate;
    if (*flops_per_s <= row.real(1))
        rate.mfu = *flops_per_s / row.real(1);
    else
        rate.why_no_share = "more than the GPU's peak";
    return rate;
}

std::string ProductRate::text(const std::string& peak) const {
    if (!tflops) return "";
    std::string text =
        "at least " + figure_text(*tflops < 1 ? "%.2g" : "%.3g", *tflops) + " TFLOP/s per GPU, ";
    text += mfu ? "MFU " + percent_text(*mfu) + peak : "MFU not known: " + why_no_share;
    return text + ", by recorded products of cuBLAS: " + shares_text(*covered_share, *covered_share) +
           " of the time of matrix products and convolutions; other kernels are not counted";
}

void ProductRate::tell(Facts& facts) const {
    facts.maybe("product_tflops_per_gpu", tflops, why_no_rate)
        .maybe("product_mfu", mfu, why_no_share)
        .maybe("product_covered_share", covered_share, why_no_covered);
}

}  // namespace gpushim::analysis
