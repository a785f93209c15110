// Which kernels take the time, and which of them run on tensor cores, as far as their names tell.
#include <algorithm>

#include "../chart/page.h"
#include "../chart/stacked_bars.h"
#include "../chart/table.h"
#include "../kernel/kernel_class.h"
#include "../kernel/short_name.h"
#include "../report/all_steps.h"
#include "../report/facts.h"
#include "../text/units.h"
#include "../text/width.h"
#include "figures.h"
#include "kernel_names.h"
#include "part.h"

namespace gpushim::analysis::part_kernels {

namespace {

constexpr size_t kMostBars = 15;
constexpr double kWorthSaying = 0.10;

// Of one short name; each kernel by its own is in the table.
struct Group {
    std::string name;
    double share = 0;
    std::string cores;
    bool may_use_them = true;  // tensor cores: as far as its family tells
};

std::vector<Group> groups_of(const PageInput& input) {
    std::vector<Group> groups;
    for (const Json& kernel : input.of("kernels").items()) {
        const auto share = kernel["share"].amount();
        if (!share) continue;
        const std::string name = kernel["short_name"].words(), cores = kernel["tensor_core"].words();
        const auto found = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
            return group.name == name && group.cores == cores;
        });
        if (found == groups.end())
            groups.push_back({name, *share, cores, products_of(kernel["family"].words()) != Products::never});
        else
            found->share += *share;
    }
    std::stable_sort(groups.begin(), groups.end(),
                     [](const Group& a, const Group& b) { return a.share > b.share; });
    return groups;
}

StackedBars chart_of(const PageInput& input) {
    StackedBars chart;
    chart.words = {
        "kernel-time", "Kernels that take the most time",
        "A bar for all kernels of one short name: their share of all kernel time, by whether they run on "
        "tensor cores. The table below has each kernel, with its full name."};
    chart.x = {"of kernel time", share_axis};
    chart.parts = {
        {"tensor cores", 2}, {"not known by name", 7}, {"no tensor cores", 1}, {"no matrix product", 11}};
    for (const Group& group : groups_of(input)) {
        if (chart.bars.size() == kMostBars) break;
        const size_t part = group.cores == "yes" ? 0 : group.cores == "no" ? 2 : group.may_use_them ? 1 : 3;
        StackedBars::Bar bar = {shown(group.name), {0, 0, 0, 0}};
        bar.values[part] = group.share;
        chart.bars.push_back(bar);
    }
    return chart;
}

Markup classes_of(const Json& classes) {
    if (classes["eligible_share"].is_null())
        return missing("how long kernels ran: " + why_of(classes, "eligible_share"));
    if (classes["tensor_core_share"].is_null())
        return paragraph("By their names no kernel is a matrix product or a convolution.");
    std::string text = "Matrix products and convolutions are " + share_of_json(classes["eligible_share"]) +
                       " of kernel time; ";
    const double unknown = classes["tensor_core_unknown_share"].amount().value_or(1);
    if (unknown >= 1)
        text += "whether they run on tensor cores their names do not tell";
    else
        text += share_of_json(classes["tensor_core_share"]) + " of that runs on tensor cores";
    if (unknown > 0 && unknown < 1)
        text += ", and of " + share_of_json(classes["tensor_core_unknown_share"]) + " names do not tell it";
    return paragraph(text + ". Kernels in fp16 or bf16 are " +
                     share_of_json(classes["half_precision_share"]) +
                     " of kernel time. All of this is inferred from names.");
}

// What shares do not speak of.
Markup left_out_of(const Json& classes) {
    const double share = classes["hardly_timed_share"].amount().value_or(0);
    if (share < kWorthSaying) return {};
    return paragraph(
        percent_text(share) +
        " of launches are of kernels that were rarely timed; the shares leave these kernels out.");
}

constexpr const char* kOfProducts =
    "TFLOP/s, and bytes of matrices in a second, are of products that cuBLAS was asked for outside of CUDA "
    "graphs. A dash: none of them with device times is of that kernel. What cuDNN and other libraries "
    "compute is "
    "not recorded.";
constexpr const char* kOfGraphs =
    "TFLOP/s of single kernels are not recorded: no product of cuBLAS outside of CUDA graphs has device "
    "times.";

// Of timed products of cuBLAS; what others do is not known.
void add_product_columns(PageTable& table) {
    table.alignment += "rr";
    table.headings.insert(table.headings.end(), {"TFLOP/s", "matrices"});
}

void add_products(const Json& kernel, std::vector<TableCell>& row) {
    const auto flops = kernel["flops_per_s"].amount(), bytes = kernel["bytes_per_s"].amount();
    row.push_back(flops ? TableCell(figure_text("%.3g", *flops / 1e12), *flops) : TableCell(kNotThere));
    row.push_back(bytes ? TableCell(rate_text(*bytes), *bytes) : TableCell(kNotThere));
}

bool has_products_of(const PageInput& input) {
    const std::vector<Json>& kernels = input.of("kernels").items();
    return std::any_of(kernels.begin(), kernels.end(),
                       [](const Json& kernel) { return !kernel["flops_per_s"].is_null(); });
}

std::optional<double> mean_of(const Json& kernel) {
    const auto sum = kernel["sum_ns"].amount(), timed = kernel["timed"].amount();
    return sum && timed.value_or(0) > 0 ? std::optional(*sum / *timed) : std::nullopt;
}

// A full name may be far longer than a line: the style sheet shows its begin, and all of it after a click.
Markup cell_of(const KernelNames& names, size_t nth) {
    Markup cell = element("code", {}, names.short_name(nth));
    if (!names.full_name(nth).empty())
        cell += element("code", {{"class", "full"}, {"id", names.id(nth)}, {"tabindex", "0"}},
                        names.full_name(nth));
    return cell;
}

Markup table_of(const PageInput& input) {
    const std::vector<Json>& kernels = input.of("kernels").items();
    // What a step takes is of all launches, a total only of those that were timed.
    const bool are_steps = std::any_of(kernels.begin(), kernels.end(),
                                       [](const Json& kernel) { return !kernel["per_step_ns"].is_null(); });
    const char* const took = are_steps ? "per_step_ns" : "sum_ns";
    PageTable rows = {"Kernels",
                      "lrrrrlll",
                      {"kernel", "ran", are_steps ? "a step" : "timed, total", "each, mean", "share",
                       "family", "precision", "tensor cores"},
                      {},
                      ""};
    const KernelNames names(input);
    const bool has_products = has_products_of(input);
    if (has_products) add_product_columns(rows);
    if (kernels.size() > kMostKernels)
        rows.rest = "Those " + std::to_string(kMostKernels) + " of " +
                    count_axis(static_cast<double>(kernels.size())) +
                    " that take the most time; report --json has all of them.";
    for (const Json& kernel : kernels) {
        if (rows.rows.size() == kMostKernels) break;
        const auto share = kernel["share"].amount(), count = kernel["count"].amount();
        rows.rows.push_back(
            {cell_of(names, rows.rows.size()), TableCell(count_of_json(kernel["count"]), count.value_or(0)),
             share ? cell_by(duration_text, kernel[took]) : TableCell(kNotThere),
             cell_by(duration_text, mean_of(kernel)),
             share ? TableCell(percent_text(*share), *share) : TableCell(kNotThere), kernel["family"].words(),
             kernel["precision"].words(), kernel["tensor_core"].words()});
        if (has_products) add_products(kernel, rows.rows.back());
    }
    return table(rows);
}

Markup write(const PageInput& input) {
    if (input.of("kernels").items().empty()) return paragraph("No kernel was launched.", "soft");
    Markup all = classes_of(input.of("kernel_classes"));
    all += left_out_of(input.of("kernel_classes"));
    const StackedBars chart = chart_of(input);
    if (!chart.bars.empty()) all += figure(chart.words, stacked_bars(chart));
    Markup rows = table_of(input);
    rows += of_steps(steps_of_kernels(input.source.run));
    if (has_products_of(input))
        rows += paragraph(kOfProducts, "rest");
    else if (!input.of("flops")["product_tflops_per_gpu"].is_null())
        rows += paragraph(kOfGraphs, "rest");
    all += folded("As a table", rows);
    return all;
}

constexpr ReportPart kPart = {"kernels", "Kernels", write};
const ReportPartRegistration kRegistration(kPart);

}  // namespace

}  // namespace gpushim::analysis::part_kernels
