// What the parts of a step take: input, forward, backward, communication, optimizer. On the GPU where all of
// their operations were timed; else so long as the host took to launch them.
#include <cstdio>

#include "../text/units.h"
#include "facts.h"
#include "section.h"

namespace gpushim::analysis::section_phases {

namespace {

constexpr double kWorthShowing = 0.5;  // below this confidence people are not told, programs are

// By rank and step first: a phase that comes twice in a step counts with both.
constexpr const char* kPhases =
    "WITH found AS (SELECT p.name, sum(p.dur_ns) AS ns, CASE WHEN"
    "  count(p.device_ns) = count(*) THEN sum(p.device_ns) END AS device_ns, min(p.confidence) AS confidence "
    "FROM phase p"
    " JOIN v_counted_step c ON c.rank_id = p.rank_id AND c.step = p.step"
    " WHERE c.is_slice = 0 AND c.number BETWEEN ?1 AND ?2 GROUP BY p.rank_id, p.step, p.name),"
    " steps AS (SELECT count(*) AS n FROM (SELECT DISTINCT p.rank_id, p.step FROM phase p"
    " JOIN v_counted_step c ON c.rank_id = p.rank_id AND c.step = p.step"
    " WHERE c.is_slice = 0 AND c.number BETWEEN ?1 AND ?2))"
    " SELECT f.name, sum(f.ns) / s.n, avg(f.confidence), CASE WHEN count(f.device_ns) > 0.5 * count(*)"
    " THEN CAST(avg(f.device_ns) * count(*) / s.n AS INTEGER) END FROM found f, steps s GROUP BY f.name"
    " ORDER BY CASE f.name WHEN 'input' THEN 0 WHEN 'forward' THEN 1 WHEN 'backward' THEN 2"
    " WHEN 'communication' THEN 3 ELSE 4 END";

void write(const ReportSource& source, Report& report) {
    Json list = Json::array();
    std::string launching, running;
    double least = 1;
    bool is_timed = true;
    Query query = source.of_steps(kPhases);
    while (query.step()) {
        list.push(Facts()
                      .known("name", query.text(0))
                      .known("ns_per_step", query.number(1))
                      .maybe("device_ns_per_step", query.maybe(3), "its operations have no device times")
                      .maybe("confidence", maybe_real(query, 2), "not recorded")
                      .json());
        least = std::min(least, query.is_null(2) ? 0 : query.real(2));
        const auto add = [&](std::string& text, int64_t ns) {
            if (ns == 0) return;
            text +=
                (text.empty() ? "" : " + ") + query.text(0) + " " + duration_text(static_cast<double>(ns));
        };
        is_timed &= !query.is_null(3);
        add(launching, query.number(1));
        add(running, query.number(3));
    }
    report.json.set("phases", std::move(list));
    if ((is_timed ? running : launching).empty() || least < kWorthShowing) return;
    char confidence[64];
    std::snprintf(confidence, sizeof confidence, "   (%s, %.2f)", is_timed ? "on the GPU" : "to launch it",
                  least);
    report.line("PHASES     " + (is_timed ? running : launching) + confidence);
}

constexpr Section kSection = {"phases", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_phases
