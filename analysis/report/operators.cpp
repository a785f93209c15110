// Which operators of the framework, and which modules of the model, launched what took time, where another
// tool's trace tells of them.
#include <algorithm>

#include "../advice/ecosystem.h"
#include "../text/units.h"
#include "facts.h"
#include "section.h"

namespace gpushim::analysis::section_operators {

namespace {

constexpr size_t kMostRows = 5, kFewestRows = 3;
struct Why {
    const char *source, *text;
};
// By where the trace is from; the last but one: from a preload; the last: from several tools.
constexpr Why kWhys[] = {
    {"kineto", "no kernel is known to be of an operator: in this profile none was launched within one"},
    {"nsys",
     "operators are not told by this export: PyTorch tells them under torch.autograd.profiler.emit_nvtx(), "
     "and `gpushim import kineto` reads them from a profile that PyTorch made"},
    {"xplane", "an XPlane file does not tell which operator launched a kernel"},
    {"gpushim",
     "not recorded: a preloaded library does not see operators, modules and tensors. `gpushim import kineto` "
     "reads them from a profile that PyTorch made"},
    {nullptr,
     "none of these traces tells which operator launched a kernel; a profile that PyTorch made does"}};

const char* why_none(const ReportSource& source) {
    const std::string from = source.text("sources").value_or("gpushim");
    const auto why = std::find_if(std::begin(kWhys), std::end(kWhys) - 1,
                                  [&](const Why& one) { return from == one.source; });
    return why->text;
}

struct Row {
    std::string name, module, pass, forward;  // empty: not told
    int64_t kernels, sum_ns;
};

// Conv2d_19 is a Conv2d: the table has each.
constexpr const char* kModule = "rtrim(rtrim(module, '0123456789'), '_')";

// Sums by these four.
std::vector<Row> rows_of(const Database& run, const std::string& columns) {
    std::vector<Row> all;
    if (!run.has("operator_kernel")) return all;
    Query row = run.prepare("SELECT " + columns +
                            ", sum(kernels), sum(sum_ns) FROM operator_kernel GROUP BY 1, 2, 3, 4"
                            " ORDER BY 6 DESC, 5 DESC, 1, 2, 3, 4");
    while (row.step())
        all.push_back({row.text(0), row.text(1), row.text(2), row.text(3), row.number(4), row.number(5)});
    return all;
}

Json json_of(const ReportSource& source, const std::vector<Row>& rows) {
    Json list = Json::array();
    const auto named = [&](const std::string& name) {
        return name.empty() ? std::optional<std::string>() : source.json_name("range", name);
    };
    for (const Row& row : rows)
        list.push(Facts()
                      .maybe("operator", named(row.name), "launched outside of operators")
                      .maybe("module", named(row.module), "not told")
                      .maybe("pass", row.pass.empty() ? std::optional<std::string>() : row.pass, "not told")
                      .maybe("forward", named(row.forward), "not told, or it is of forward")
                      .known("kernels", row.kernels)
                      .known("sum_ns", row.sum_ns)
                      .json());
    return list;
}

double told_ns(const std::vector<Row>& rows) {
    double all_ns = 0;
    for (const Row& row : rows) all_ns += static_cast<double>(row.sum_ns);
    return all_ns;
}

// Kernels in graphs, and what was launched before the trace began, are of no operator: shares are of these,
// too, as in the table of kernels.
double kernel_ns(const Database& run) {
    Query sum = run.prepare("SELECT sum(sum_ns) FROM kernel");
    return sum.step() ? sum.real(0) : 0;
}

void write_table(const char* heading, const ReportSource& source, const std::vector<Row>& rows,
                 Report& report) {
    const double all_ns = std::max(told_ns(rows), kernel_ns(source.run));
    std::vector<std::vector<std::string>> table = {{heading, "pass", "kernels", "GPU time", "share"}};
    for (const Row& row : rows) {
        if (row.name.empty()) continue;
        const auto share = share_of(static_cast<double>(row.sum_ns), all_ns);
        table.push_back({source.name("range", row.name), row.pass.empty() ? "-" : row.pass,
                         count_text(row.kernels), duration_text(static_cast<double>(row.sum_ns)),
                         share ? percent_text(*share) : "-"});
    }
    if (table.size() == 1) return;
    report.line("");
    Table& last = report.table("llrrr", std::move(table), kMostRows);
    last.least = kFewestRows;
    last.may_be_words = true;
    last.figure = 3;
}

void write(const ReportSource& source, Report& report) {
    const std::vector<Row> rows = rows_of(source.run, "operator, module, pass, forward");
    report.json.set("operators", json_of(source, rows));
    if (rows.empty()) {
        const char* const why = why_none(source);
        report.json.set("operators_why", why);
        const bool has_operators = ecosystem_of(source.run.raw()).pytorch;
        return has_operators ? report.paragraph(std::string("OPERATORS  ") + why, 11) : void();
    }
    write_table("OPERATORS", source, rows_of(source.run, "operator, NULL, pass, NULL"), report);
    write_table("MODULES", source, rows_of(source.run, std::string(kModule) + ", NULL, pass, NULL"), report);
}

constexpr Section kSection = {"operators", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_operators
