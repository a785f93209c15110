#include "product_figures.h"

#include "../kernel/peak.h"
#include "source.h"

namespace gpushim::analysis {

namespace {

std::optional<double> per_s(double amount, double ns) {
    return ns > 0 ? std::optional(amount * 1e9 / ns) : std::nullopt;
}

// Of GPUs of one name; what is not known by the kernel's or the GPU's name has a why.
void find_peak(const Query& row, ProductFigures& figures) {
    const auto precision = precision_named(row.text(5));
    if (row.text(6) != row.text(7))
        figures.why_no_peak = "it ran on GPUs of several kinds";
    else if (!precision || *precision == Precision::unknown || *precision == Precision::mixed)
        figures.why_no_peak = "its name does not tell its precision";
    else
        figures.peak_flops_per_s = peak_flops_per_s(row.text(6), *precision);
    if (!figures.peak_flops_per_s && figures.why_no_peak.empty())
        figures.why_no_peak = why_no_peak(row.text(6));
}

}  // namespace

std::optional<double> ProductFigures::flops_per_s() const { return per_s(flops, ns); }
std::optional<double> ProductFigures::bytes_per_s() const { return bytes ? per_s(*bytes, ns) : std::nullopt; }

void ProductFigures::add(const ProductFigures& other) {
    products += other.products;
    flops += other.flops;
    ns += other.ns;
    if (bytes && other.bytes)
        *bytes += *other.bytes;
    else
        bytes.reset();
}

ProductRows::ProductRows(const Database& run) {
    if (!run.has("kernel_product")) return;
    Query row = run.prepare(
        "SELECT p.name, sum(p.products), sum(p.flops), sum(p.ns),"
        " CASE WHEN count(p.bytes) = count(*) THEN sum(p.bytes) END, coalesce(max(k.precision), 'unknown'),"
        " coalesce(min(g.name), ''), coalesce(max(g.name), '')"
        " FROM kernel_product p LEFT JOIN kernel k ON k.gpu_id = p.gpu_id AND k.name = p.name"
        " LEFT JOIN gpu g ON g.gpu_id = p.gpu_id GROUP BY p.name");
    while (row.step()) {
        ProductFigures& figures = by_kernel_[row.text(0)];
        figures.products = row.number(1);
        figures.flops = row.real(2);
        figures.ns = row.real(3);
        figures.bytes = maybe_real(row, 4);
        find_peak(row, figures);
    }
}

ProductFigures ProductRows::of(const std::string& kernel) const {
    const auto found = by_kernel_.find(kernel);
    return found != by_kernel_.end() ? found->second : ProductFigures{};
}

void ProductRows::tell(Facts& facts, const std::string& kernel) const {
    const ProductFigures figures = of(kernel);
    const auto if_known = [&figures](auto value) {
        return figures.is_known() ? std::optional(value) : std::nullopt;
    };
    const std::string none = empty() ? "no product of cuBLAS with device times is recorded"
                                     : "it computed no product of cuBLAS that is recorded, with device times";
    const auto rate = if_known(figures.flops_per_s().value_or(0));
    const auto peak_share =
        rate && figures.peak_flops_per_s ? share_of(*rate, *figures.peak_flops_per_s) : std::nullopt;
    const auto bytes = figures.is_known() ? figures.bytes : std::nullopt;
    const std::string no_bytes =
        figures.is_known() ? "of some products it is not known which matrices they share" : none;
    facts.maybe("products", if_known(figures.products), none)
        .maybe("flops", if_known(figures.flops), none)
        .maybe("flops_per_s", rate, none)
        .maybe("peak_share", peak_share, figures.is_known() ? figures.why_no_peak : none)
        .maybe("bytes", bytes, no_bytes)
        .maybe("bytes_per_s", bytes ? figures.bytes_per_s() : std::nullopt, no_bytes);
}

}  // namespace gpushim::analysis
