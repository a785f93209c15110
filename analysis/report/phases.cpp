// What the parts of a step take: input, forward, backward, communication, optimizer. On the GPU where steps
// were timed as a whole; else so long as the host took to launch them.
#include <cstdio>

#include "../text/units.h"
#include "facts.h"
#include "section.h"

namespace gpushim::analysis::section_phases {

namespace {

constexpr double kWorthShowing = 0.5;  // below this confidence people are not told, programs are

// By rank and step first: a phase that comes twice in a step counts with both. What they took on the GPU is
// a mean of the steps in which all of it was timed; of a phase that none of these has nothing is known.
constexpr const char* kPhases =
    "WITH found AS (SELECT p.rank_id, p.step, p.name, sum(p.dur_ns) AS ns, min(p.confidence) AS confidence,"
    " CASE WHEN count(p.device_ns) = count(*) THEN sum(p.device_ns) END AS device_ns FROM phase p"
    " JOIN v_counted_step c ON c.rank_id = p.rank_id AND c.step = p.step"
    " WHERE c.is_slice = 0 AND c.number BETWEEN ?1 AND ?2 GROUP BY p.rank_id, p.step, p.name),"
    " steps AS (SELECT rank_id, step, count(device_ns) = count(*) AS is_timed FROM found GROUP BY 1, 2),"
    " n AS (SELECT count(*) AS steps, sum(is_timed) AS timed, count(DISTINCT rank_id) AS ranks FROM steps)"
    " SELECT f.name, sum(f.ns) / n.steps, avg(f.confidence),"
    " CASE WHEN n.timed > 0 THEN sum(f.device_ns) FILTER (WHERE s.is_timed) / n.timed END,"
    " n.timed, n.steps, n.ranks FROM found f JOIN steps s USING (rank_id, step), n GROUP BY f.name"
    " ORDER BY CASE f.name WHEN 'input' THEN 0 WHEN 'forward' THEN 1 WHEN 'backward' THEN 2"
    " WHEN 'communication' THEN 3 ELSE 4 END";

void write(const ReportSource& source, Report& report) {
    Json list = Json::array();
    std::string launching, running;
    double sure_ns = 0, all_ns = 0;  // each phase by the time that it takes
    int64_t timed_steps = 0, steps = 0, ranks = 1;
    Query query = source.of_steps(kPhases);
    while (query.step()) {
        list.push(Facts()
                      .known("name", query.text(0))
                      .known("ns_per_step", query.number(1))
                      .maybe("device_ns_per_step", query.maybe(3), "its operations have no device times")
                      .known("device_steps", query.number(4))
                      .maybe("confidence", maybe_real(query, 2), "not recorded")
                      .json());
        const double took_ns = query.is_null(3) ? query.real(1) : query.real(3);
        sure_ns += query.is_null(2) ? 0 : query.real(2) * took_ns;
        all_ns += took_ns;
        const auto add = [&](std::string& text, int64_t ns) {
            if (ns == 0) return;
            text +=
                (text.empty() ? "" : " + ") + query.text(0) + " " + duration_text(static_cast<double>(ns));
        };
        timed_steps = query.number(4);
        steps = query.number(5);
        ranks = query.number(6);
        add(launching, query.number(1));
        if (!query.is_null(3)) add(running, query.number(3));
    }
    report.json.set("phases", std::move(list));
    const bool is_timed = timed_steps > 0;
    const double sure = all_ns > 0 ? sure_ns / all_ns : 0;
    if ((is_timed ? running : launching).empty() || sure < kWorthShowing) return;
    std::string where = is_timed ? "on GPUs" : "to launch it";
    if (is_timed && timed_steps < steps)
        where += " in " + count_text(timed_steps) + " of " + count_text(steps) +
                 (ranks > 1 ? " steps of " + count_text(ranks) + " ranks" : " steps");
    report.line("PHASES     " + (is_timed ? running : launching) + " (" + where + ", " + sure_text(sure) +
                ")");
}

constexpr Section kSection = {"phases", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_phases
