// What the parts of a step take: input, forward, backward, communication, optimizer.
#include <cstdio>

#include "../text/units.h"
#include "facts.h"
#include "section.h"

namespace gpushim::analysis::section_phases {

namespace {

constexpr double kWorthShowing = 0.5;  // below this confidence people are not told, programs are

// By rank and step first: a phase that comes twice in a step counts with both.
constexpr const char* kPhases =
    "WITH found AS (SELECT p.name, sum(p.dur_ns) AS ns, min(p.confidence) AS confidence FROM phase p"
    " JOIN v_counted_step c ON c.rank_id = p.rank_id AND c.step = p.step"
    " WHERE c.is_slice = 0 AND c.number BETWEEN ?1 AND ?2 GROUP BY p.rank_id, p.step, p.name),"
    " steps AS (SELECT count(*) AS n FROM (SELECT DISTINCT p.rank_id, p.step FROM phase p"
    " JOIN v_counted_step c ON c.rank_id = p.rank_id AND c.step = p.step"
    " WHERE c.is_slice = 0 AND c.number BETWEEN ?1 AND ?2))"
    " SELECT f.name, sum(f.ns) / s.n, avg(f.confidence) FROM found f, steps s GROUP BY f.name"
    " ORDER BY CASE f.name WHEN 'input' THEN 0 WHEN 'forward' THEN 1 WHEN 'backward' THEN 2"
    " WHEN 'communication' THEN 3 ELSE 4 END";

void write(const ReportSource& source, Report& report) {
    Json list = Json::array();
    std::string text;
    double least = 1;
    Query query = source.of_steps(kPhases);
    while (query.step()) {
        list.push(Facts()
                      .known("name", query.text(0))
                      .known("ns_per_step", query.number(1))
                      .maybe("confidence", maybe_real(query, 2), "not recorded")
                      .json());
        least = std::min(least, query.is_null(2) ? 0 : query.real(2));
        text += (text.empty() ? "" : " + ") + query.text(0) + " " +
                duration_text(static_cast<double>(query.number(1)));
    }
    report.json.set("phases", std::move(list));
    if (text.empty() || least < kWorthShowing) return;
    char confidence[48];
    std::snprintf(confidence, sizeof confidence, "   (by position, confidence %.2f)", least);
    report.line("PHASES     " + text + confidence);
}

constexpr Section kSection = {"phases", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_phases
