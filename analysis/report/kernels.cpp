// Which kernels ran, how long, and what their names say of precision and tensor cores. The text adds up those
// that have one short name; JSON has each by its own. Where cuBLAS was asked for products: how fast they
// were.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <span>

#include "../kernel/short_name.h"
#include "../text/units.h"
#include "../text/width.h"
#include "../to_int64.h"
#include "all_steps.h"
#include "facts.h"
#include "product_figures.h"
#include "section.h"

namespace gpushim::analysis::section_kernels {

namespace {

constexpr size_t kMostRows = 10, kFewestRows = 5;
constexpr double kWorthSaying = 0.10;  // below, larger grids would hardly be felt
constexpr double kEnoughToTell = 8;    // so many of a kernel's launches would have device times by chance

// Over all kernels, in ns of kernel time; eligible: matrix products and convolutions.
struct Classes {
    double all = 0, eligible = 0, tensor = 0, unknown = 0, half = 0, half_unknown = 0, launches = 0;
    int64_t timed = 0;
    std::optional<double> small_grid;  // none: of some it is not known
};

Classes classes_of(const Database& run) {
    Classes classes;
    Query sums = run.prepare(
        "SELECT sum(w.timed_ns), sum(CASE WHEN eligible = 1 THEN w.timed_ns ELSE 0 END),"
        " sum(CASE WHEN eligible = 1 AND tensor_core = 'yes' THEN w.timed_ns ELSE 0 END),"
        " sum(CASE WHEN eligible = 1 AND tensor_core = 'unknown' THEN w.timed_ns ELSE 0 END),"
        " sum(CASE WHEN precision IN ('fp16', 'bf16') THEN w.timed_ns ELSE 0 END),"
        " sum(CASE WHEN coalesce(precision, 'unknown') = 'unknown' THEN w.timed_ns ELSE 0 END),"
        " sum(w.executed), sum(w.timed),"
        " CASE WHEN sum(CASE WHEN k.timed > 0 AND small_grid_ns IS NULL THEN 1 ELSE 0 END) = 0"
        " THEN sum(small_grid_ns * 1.0 * w.timed_ns / nullif(k.sum_ns, 0)) END FROM kernel k"
        " JOIN v_kernel_work w ON w.gpu_id = k.gpu_id AND w.name = k.name");
    if (sums.step())
        classes = {sums.real(0), sums.real(1), sums.real(2),   sums.real(3),       sums.real(4),
                   sums.real(5), sums.real(6), sums.number(7), maybe_real(sums, 8)};
    return classes;
}

constexpr const char* kGridUnknown =
    "the size of a grid, or the number of the GPU's multiprocessors, is not recorded";

// Of kernel time, in grids with fewer blocks than the GPU has multiprocessors.
std::optional<double> small_grid_share(const Classes& classes) {
    return classes.small_grid ? share_of(*classes.small_grid, classes.all) : std::nullopt;
}

struct Row {
    std::string name, short_name, precision, tensor_core, family;
    int64_t count, timed;
    double executed;                 // in steps, where there are some …
    int64_t work_timed;              // … those that tell how long it takes
    std::optional<int64_t> work_ns;  // … and took so long
    std::optional<int64_t> sum_ns, union_ns, small_grid, small_grid_ns;
    ProductFigures products;
};

// Events of ours stay away from some kernels (programmatic launches, what a program measures): next to others
// the few that have device times are no measure of all. Where all are sampled alike they are.
bool is_hardly_timed(const Row& row, const Classes& classes) {
    const double usual = row.executed * static_cast<double>(classes.timed) / std::max(classes.launches, 1.0);
    return usual >= kEnoughToTell && static_cast<double>(row.work_timed) < usual / 2;
}

// Steps of all GPUs together in which calls were recorded: what totals of the run are divided by. None: no
// steps were found, or not how many of them there were.
std::optional<double> recorded_steps(const Database& run) {
    Query row = run.prepare("SELECT steps FROM v_steps_of_gpus");
    const auto steps = row.step() ? maybe_real(row, 0) : std::nullopt;
    return steps.value_or(0) > 0 ? steps : std::nullopt;
}

// All that it took: launches without device times took what those with them took. None: too few have some.
std::optional<double> whole_ns(const Row& row, const Classes& classes) {
    if (row.work_ns && row.executed == 0) return 0;  // no step calls it
    if (!row.work_ns || row.work_timed <= 0 || is_hardly_timed(row, classes)) return {};
    return static_cast<double>(*row.work_ns) * row.executed / static_cast<double>(row.work_timed);
}

std::optional<int64_t> per_step_ns(const Row& row, const Classes& classes, std::optional<double> steps) {
    const auto all_ns = whole_ns(row, classes);
    return all_ns && steps ? std::optional(to_int64(std::round(*all_ns / *steps))) : std::nullopt;
}

std::optional<double> hardly_timed_share(std::span<const Row> rows, const Classes& classes) {
    double launches = 0;
    for (const Row& row : rows)
        if (is_hardly_timed(row, classes)) launches += row.executed;
    return share_of(launches, classes.launches);
}

Json json_of(const Classes& classes, std::optional<double> hardly_timed) {
    const char* const untimed = "no kernel has device times";
    const char* const none = classes.timed > 0 ? "no matrix product or convolution ran" : untimed;
    return Facts()
        .maybe("eligible_share", share_of(classes.eligible, classes.all), untimed)
        .maybe("tensor_core_share", share_of(classes.tensor, classes.eligible), none)
        .maybe("tensor_core_unknown_share", share_of(classes.unknown, classes.eligible), none)
        .maybe("half_precision_share", share_of(classes.half, classes.all), untimed)
        .maybe("precision_unknown_share", share_of(classes.half_unknown, classes.all), untimed)
        .maybe("small_grid_share", small_grid_share(classes), classes.timed > 0 ? kGridUnknown : untimed)
        .maybe("hardly_timed_share", hardly_timed, "no kernel was launched")
        .json();
}

std::string whole_percent(double part, double whole) {
    return std::to_string(whole > 0 ? std::lround(100 * part / whole) : 0) + " %";
}

void write_classes(const Classes& classes, Report& report) {
    if (classes.launches == 0) return;
    if (classes.timed == 0)
        return report.line("KERNELS    " + count_text(to_int64(std::round(classes.launches))) +
                           " ran; their times are not recorded");
    std::string text = "fp16/bf16 " + whole_percent(classes.half, classes.all) + "; GEMM/conv " +
                       whole_percent(classes.eligible, classes.all) + " of time, by name";
    if (classes.eligible > 0) {
        text += " (tensor cores " + whole_percent(classes.tensor, classes.eligible);
        if (classes.unknown > 0) text += ", unknown " + whole_percent(classes.unknown, classes.eligible);
        text += ")";
    }
    const auto small = small_grid_share(classes);
    if (small && *small >= kWorthSaying) text += "; small grids " + whole_percent(*small, 1);
    report.line("KERNELS    " + text);
}

std::vector<Row> rows_of(const ReportSource& source, const ProductRows& products) {
    const Database& run = source.run;
    std::vector<Row> all;
    Query row = run.prepare(
        "SELECT k.name, coalesce(max(precision), 'unknown'), coalesce(max(tensor_core), 'unknown'),"
        " coalesce(max(family), 'unknown'), sum(launches + coalesce(graph_launches, 0)), sum(k.timed),"
        " sum(sum_ns), sum(union_ns),"
        " CASE WHEN sum(CASE WHEN k.timed > 0 AND small_grid IS NULL THEN 1 ELSE 0 END) = 0"
        " THEN sum(small_grid) END, sum(small_grid_ns), sum(w.executed), sum(w.timed), sum(w.timed_ns)"
        " FROM kernel k JOIN v_kernel_work w ON w.gpu_id = k.gpu_id AND w.name = k.name GROUP BY k.name"
        " ORDER BY coalesce(sum(w.timed_ns), 0) DESC, 5 DESC, k.name");
    while (row.step()) {
        const bool timed = row.number(5) > 0;
        all.push_back({row.text(0), source.short_kernel_name(row.text(0)), row.text(1), row.text(2),
                       row.text(3), row.number(4), row.number(5), row.real(10), row.number(11),
                       timed ? row.maybe(12) : std::nullopt, timed ? row.maybe(6) : std::nullopt,
                       timed ? row.maybe(7) : std::nullopt, row.maybe(8),
                       row.is_null(8) ? std::nullopt : row.maybe(9), products.of(row.text(0))});
    }
    return all;
}

const std::string& same_or(const std::string& a, const std::string& b) {
    static const std::string kSeveral = "several";
    return a == b ? a : kSeveral;
}

// Rows of one short name as one; those that took most first.
std::vector<Row> added_up(const std::vector<Row>& rows) {
    std::vector<Row> all;
    std::map<std::string, size_t> place;
    for (const Row& row : rows) {
        const auto [found, is_new] = place.try_emplace(row.short_name, all.size());
        if (is_new) {
            all.push_back(row);
            continue;
        }
        Row& sum = all[found->second];
        sum.count += row.count;
        sum.executed += row.executed;
        sum.work_timed += row.work_timed;
        if (row.work_ns) sum.work_ns = sum.work_ns.value_or(0) + *row.work_ns;
        sum.products.add(row.products);
        sum.precision = same_or(sum.precision, row.precision);
        sum.tensor_core = same_or(sum.tensor_core, row.tensor_core);
    }
    std::stable_sort(all.begin(), all.end(), [](const Row& a, const Row& b) {
        return std::pair(a.work_ns.value_or(0), a.count) > std::pair(b.work_ns.value_or(0), b.count);
    });
    return all;
}

// Of which steps a table says what a kernel takes "a step", where other figures are not of all of them.
std::string basis_text(const Database& run) {
    const auto steps = steps_of_kernels(run);
    const std::string of = steps ? steps->differing_text() : "";
    return of.empty() ? "" : "; a step: " + of;
}

std::optional<double> share_of_row(const Row& row, const Classes& classes) {
    if (!row.work_ns || is_hardly_timed(row, classes)) return {};
    return share_of(static_cast<double>(*row.work_ns), classes.all);
}

// "-": not known.
std::string tflops_text(const ProductFigures& products) {
    if (!products.is_known()) return "-";
    const double tflops = products.flops_per_s().value_or(0) / 1e12;
    return figure_text(tflops < 1 ? "%.2g" : "%.3g", tflops);
}

void write_table(const std::vector<Row>& rows, const Classes& classes, std::optional<double> steps,
                 const std::string& basis, Report& report) {
    const std::vector<Row> shown_rows = added_up(rows);
    // Of kernels below these nobody sees it.
    const auto last = shown_rows.begin() + static_cast<ptrdiff_t>(std::min(kMostRows, shown_rows.size()));
    const bool has_products =
        std::any_of(shown_rows.begin(), last, [](const Row& row) { return row.products.is_known(); });
    std::vector<std::vector<std::string>> table = {
        {"  by name" + basis, "ran", steps ? "a step" : "total", "share", "precision", "tensor cores"}};
    if (has_products) table.front().push_back("TFLOP/s");
    for (const Row& row : shown_rows) {
        const auto share = share_of_row(row, classes);
        auto ns = whole_ns(row, classes);
        if (ns && steps) ns = std::round(*ns / *steps);
        table.push_back({shown(cut_in_the_middle(row.short_name, kWidestKernel)), count_text(row.count),
                         ns ? duration_text(*ns) : "-", share ? percent_text(*share) : "-", row.precision,
                         row.tensor_core});
        if (has_products) table.back().push_back(tflops_text(row.products));
    }
    if (table.size() < 2) return;
    report.table(has_products ? "lrrrllr" : "lrrrll", std::move(table), kMostRows).least = kFewestRows;
}

Json json_of(const ReportSource& source, const Row& row, const Classes& classes, std::optional<double> steps,
             const ProductRows& products) {
    const char* const untimed = "none has device times";
    Facts facts;
    facts.known("name", source.json_name("kernel", row.name))
        .known("short_name", row.short_name)
        .known("count", row.count)
        .known("timed", row.timed)
        .maybe("sum_ns", row.sum_ns, untimed)
        .maybe("union_ns", row.union_ns, untimed)
        .maybe("share", share_of_row(row, classes), row.sum_ns ? "too few have device times" : untimed)
        .maybe("per_step_ns", per_step_ns(row, classes, steps),
               !row.sum_ns ? untimed
               : !steps    ? "no steps were found"
                           : "too few have device times")
        .maybe("small_grid", row.small_grid, row.sum_ns ? kGridUnknown : untimed)
        .maybe("small_grid_ns", row.small_grid_ns, row.sum_ns ? kGridUnknown : untimed)
        .known("family", row.family)
        .known("precision", row.precision)
        .known("tensor_core", row.tensor_core);
    products.tell(facts, row.name);
    return facts.json();
}

void write(const ReportSource& source, Report& report) {
    const Classes classes = classes_of(source.run);
    const ProductRows products(source.run);
    const std::vector<Row> rows = rows_of(source, products);
    Json list = Json::array();
    const std::optional<double> steps = recorded_steps(source.run);
    for (const Row& row : rows) list.push(json_of(source, row, classes, steps, products));
    report.json.set("kernels", std::move(list));
    const std::optional<double> hardly_timed = hardly_timed_share(rows, classes);
    report.json.set("kernel_classes", json_of(classes, hardly_timed));
    write_classes(classes, report);
    if (classes.timed > 0 && hardly_timed && *hardly_timed >= kWorthSaying)
        report.line("  " + whole_percent(*hardly_timed, 1) +
                    " of launches are of kernels that were rarely timed; the shares leave these kernels out");
    const std::string basis = steps && classes.timed > 0 ? basis_text(source.run) : "";
    write_table(rows, classes, steps, basis, report);
}

constexpr Section kSection = {"kernels", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_kernels
