// What the program's own ranges launched: how long it ran, and how long the GPU was idle in between.
#include "../text/units.h"
#include "facts.h"
#include "section.h"

namespace gpushim::analysis::section_range_kernels {

namespace {

constexpr size_t kMostRows = 5, kFewestRows = 3;
// ProfilerStep#7 and ProfilerStep#8 are ProfilerStep#N: the table has each.
constexpr const char* kName =
    "CASE WHEN name <> rtrim(name, '0123456789') AND rtrim(name, '0123456789') LIKE '%#'"
    " THEN rtrim(name, '0123456789') || 'N' ELSE coalesce(name, '(no name)') END";
constexpr const char* kNotWhole = "in none of them everything was timed";

struct Row {
    std::string domain, name;
    int64_t ranges, operations, timed, whole;
    std::optional<int64_t> sum_ns, span_ns, idle_ns;
};

std::vector<Row> rows_of(const Database& run) {
    std::vector<Row> all;
    if (!run.has("range_kernel")) return all;
    Query row =
        run.prepare(std::string("SELECT coalesce(domain, ''), ") + kName +
                    ", sum(ranges), sum(operations), sum(timed),"
                    " sum(whole), sum(sum_ns), sum(span_ns), sum(idle_ns) FROM range_kernel GROUP BY 1, 2"
                    " ORDER BY coalesce(sum(sum_ns), 0) DESC, 4 DESC, 2, 1");
    while (row.step())
        all.push_back({row.text(0), row.text(1), row.number(2), row.number(3), row.number(4), row.number(5),
                       row.maybe(6), row.maybe(7), row.maybe(8)});
    return all;
}

std::string duration_or(const std::optional<int64_t>& ns) {
    return ns ? duration_text(static_cast<double>(*ns)) : "-";
}

Json json_of(const ReportSource& source, const Row& row) {
    return Facts()
        .known("name", source.json_name("range", row.name))
        .maybe("domain",
               row.domain.empty() ? std::optional<std::string>() : source.json_name("domain", row.domain),
               "the default one")
        .known("ranges", row.ranges)
        .known("operations", row.operations)
        .known("timed", row.timed)
        .maybe("sum_ns", row.sum_ns, "none of them has device times")
        .known("whole", row.whole)
        .maybe("span_ns", row.span_ns, kNotWhole)
        .maybe("idle_ns", row.idle_ns, kNotWhole)
        .json();
}

void write(const ReportSource& source, Report& report) {
    Json list = Json::array();
    std::vector<std::vector<std::string>> table = {
        {"ON THE GPU", "ranges", "operations", "timed", "GPU time", "span", "idle inside"}};
    for (const Row& row : rows_of(source.run)) {
        list.push(json_of(source, row));
        const auto idle = row.idle_ns && row.span_ns
                              ? share_of(static_cast<double>(*row.idle_ns), static_cast<double>(*row.span_ns))
                              : std::nullopt;
        table.push_back({source.name("range", row.name), count_text(row.ranges), count_text(row.operations),
                         count_text(row.timed), duration_or(row.sum_ns), duration_or(row.span_ns),
                         idle ? duration_or(row.idle_ns) + "  " + percent_text(*idle) : "-"});
    }
    report.json.set("range_kernels", std::move(list));
    if (table.size() == 1) return;
    report.line("");
    Table& last = report.table("lrrrrrr", std::move(table), kMostRows);
    last.least = kFewestRows;
    last.may_be_words = true;
    last.figure = 4;
}

constexpr Section kSection = {"range_kernels", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_range_kernels
