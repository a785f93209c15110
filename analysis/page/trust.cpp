// Where every event went, and how far the figures can be trusted: the report's first lines and what they are
// of.
#include "../chart/frame.h"
#include "../chart/page.h"
#include "../chart/table.h"
#include "../report/facts.h"
#include "../report/printed.h"
#include "../text/escape.h"
#include "../text/units.h"
#include "figures.h"
#include "part.h"

namespace gpushim::analysis::part_trust {

namespace {

constexpr size_t kMostRows = 100;

// The lines above the report's first empty one say what the figures are worth. What the page's head has of
// them is not said again.
Markup first_lines(const PageInput& input) {
    std::vector<std::string> lines;
    for (const std::string& line : as_text(input.report)) {
        if (line.empty()) break;
        const std::string words = line.substr(std::min(line.find_first_not_of(' '), line.size()));
        if (line.starts_with(' ') && !lines.empty())
            lines.back() += " " + words;
        else
            lines.push_back(words);
    }
    Markup all;
    for (const std::string& line : lines) {
        if (line.starts_with("TRUST "))
            all += paragraph("Evidence is " + line.substr(line.find_first_not_of(' ', 6)) + ".");
        else if (!line.starts_with("VERDICT ") && !line.starts_with("STEP ") &&
                 !line.starts_with("EVIDENCE "))
            all += paragraph(line);
    }
    return all;
}

Markup ledger_of(const Json& ledger) {
    PageTable rows = {"Events", "lr", {"events", "count"}, {}, ""};
    for (const char* key : {"produced", "recorded", "recovered", "unfinished", "unknown"})
        rows.rows.push_back({key, {count_of_json(ledger[key]), ledger[key].amount().value_or(0)}});
    const Json& dropped = ledger["dropped"];
    for (const std::string& reason : dropped.keys())
        rows.rows.push_back({"dropped: " + shown(reason),
                             {count_of_json(dropped[reason]), dropped[reason].amount().value_or(0)}});
    return table(rows);
}

// Figures of the run and of its GPUs, by what they are worth.
Markup metrics_of(const Database& run) {
    PageTable rows = {"What each figure is worth", "lrll", {"figure", "value", "known by", "means"}, {}, ""};
    Query query = run.prepare(
        "SELECT m.name, m.value, coalesce(m.unit, ''), coalesce(m.kind, ''), coalesce(m.why, ''), "
        "coalesce(d.words, '')"
        " FROM metric m LEFT JOIN metric_definition d ON d.name = m.name WHERE m.scope = 'run' ORDER BY "
        "m.name");
    while (query.step() && rows.rows.size() < kMostRows) {
        const std::string unit = query.text(2);
        TableCell value = "not recorded: " + query.text(4);
        if (!query.is_null(1)) {
            const double amount = query.real(1);
            char plain[48];
            std::snprintf(plain, sizeof plain, "%.4g", amount);
            value = TableCell(unit == "ns"      ? duration_text(amount)
                              : unit == "share" ? percent_text(amount)
                                                : plain,
                              amount);
        }
        rows.rows.push_back({query.text(0), value, query.text(3), query.text(5)});
    }
    return rows.rows.empty() ? Markup()
                             : folded("What each figure of the run is worth, as a table", table(rows));
}

Markup write(const PageInput& input) {
    Markup all = first_lines(input);
    all += ledger_of(input.of("ledger"));
    all += metrics_of(input.source.run);
    return all;
}

constexpr ReportPart kPart = {"trust", "Events and trust", write};
const ReportPartRegistration kRegistration(kPart);

}  // namespace

}  // namespace gpushim::analysis::part_trust
