// Whether steps became slower or quicker for good while the run went on, since which step, and which part of
// a step did. Of the steps that are alike most often; without our events where these were timed.
#include <algorithm>
#include <map>

#include "../step/changes.h"
#include "../text/units.h"
#include "../to_int64.h"
#include "facts.h"
#include "section.h"

namespace gpushim::analysis::section_changes {

namespace {

constexpr int64_t kFewestTimed = 5;    // steps on either side, for what changed in them
constexpr double kWorthNaming = 0.10;  // of the change
constexpr const char* kNotTimed = "too few steps were timed on one side of it";

// The steps of each rank that are alike most often.
const std::string kAlike =
    "WITH often AS (SELECT rank_id, signature, row_number() OVER (PARTITION BY rank_id ORDER BY count(*) "
    "DESC,"
    "  signature) AS place FROM v_counted_step WHERE is_slice = 0 GROUP BY rank_id, signature),"
    " alike AS (SELECT c.rank_id, c.step, c.number, c.dur_ns FROM v_counted_step c JOIN often o ON"
    "  o.rank_id = c.rank_id AND o.signature IS c.signature AND o.place = 1 WHERE c.is_slice = 0)";

// A job's step is as long as that of its slowest rank. Where most of a run was timed, the steps that were not
// timed as a whole have our events in them, too, and cannot stand beside the others.
const std::string kSeries =
    kAlike +
    ", timed AS (SELECT u.rank_id, g.step, max(g.window_ns) AS ns FROM gpu_step g JOIN gpu u ON"
    "  u.gpu_id = g.gpu_id WHERE g.step >= 0 GROUP BY u.rank_id, g.step)"
    " SELECT a.number, max(coalesce(t.ns, a.dur_ns)) FROM alike a"
    " LEFT JOIN timed t ON t.rank_id = a.rank_id AND t.step = a.step"
    " WHERE t.ns NOTNULL OR coalesce((SELECT max(u.timed_share) FROM gpu u WHERE u.rank_id = a.rank_id), 0) "
    "< "
    "0.5"
    " GROUP BY a.number ORDER BY a.number";

// Of those from one number to another that were timed, on all GPUs.
const std::string kTimed =
    kAlike +
    ", timed AS (SELECT v.* FROM v_gpu_counted v JOIN gpu u ON u.gpu_id = v.gpu_id JOIN alike a ON"
    "  a.rank_id = u.rank_id AND a.step = v.step WHERE v.number BETWEEN ?1 AND ?2)";
const std::string kRan = kTimed +
                         " SELECT productive_ns, coalesce(waiting_for_peer_ns, 0),"
                         " exposed_transfer_ns, memory_ns FROM timed";
const std::string kIdle = kTimed +
                          " SELECT i.cause_group, sum(p.ns) FROM timed v JOIN gap p ON"
                          " p.gpu_id = v.gpu_id AND p.step = v.step JOIN idle_cause i ON i.cause = p.cause"
                          " GROUP BY v.gpu_id, v.step, i.cause_group";

struct Series {
    std::vector<int64_t> numbers, lengths_ns;
};

struct PartOfChange {
    std::string name;
    double before_ns = 0, after_ns = 0;
    double by_ns() const { return after_ns - before_ns; }
};

struct Told {
    int64_t step;  // its number
    MedianShift shift;
    std::vector<PartOfChange> parts;  // those that changed most first; none: not timed
};

Series series_of(const ReportSource& source) {
    Series series;
    Query row = source.run.prepare(kSeries);
    while (row.step()) {
        series.numbers.push_back(row.number(0));
        series.lengths_ns.push_back(row.number(1));
    }
    return series;
}

using Medians = std::map<std::string, double>;

// Medians, as the change itself is one of medians: a mean is moved by a few long steps that are no change.
Medians medians_of(const ReportSource& source, int64_t from, int64_t to) {
    constexpr const char* kNames[] = {"compute", "waiting for peers", "exposed communication", "memory"};
    std::map<std::string, std::vector<int64_t>> by_step;
    Query ran = source.run.prepare(kRan);
    ran.bind(1, from);
    ran.bind(2, to);
    size_t timed = 0;
    for (; ran.step(); ++timed)
        for (int i = 0; i < 4; ++i) by_step[kNames[i]].push_back(ran.number(i));
    if (timed < static_cast<size_t>(kFewestTimed)) return {};
    Query idle = source.run.prepare(kIdle);
    idle.bind(1, from);
    idle.bind(2, to);
    while (idle.step()) by_step["idle: " + idle.text(0)].push_back(idle.number(1));
    Medians medians;
    for (auto& [name, ns] : by_step) {
        ns.resize(timed);  // a step without such gaps was idle for none of it
        medians[name] = median_of(ns);
    }
    return medians;
}

std::vector<PartOfChange> parts_of(const Medians& before, const Medians& after) {
    std::vector<PartOfChange> parts;
    if (before.empty() || after.empty()) return parts;
    Medians names = before;
    names.insert(after.begin(), after.end());
    const auto of = [](const Medians& medians, const std::string& name) {
        const auto found = medians.find(name);
        return found == medians.end() ? 0 : found->second;
    };
    for (const auto& [name, ns] : names) parts.push_back({name, of(before, name), of(after, name)});
    std::stable_sort(parts.begin(), parts.end(), [](const PartOfChange& a, const PartOfChange& b) {
        return std::abs(a.by_ns()) > std::abs(b.by_ns());
    });
    return parts;
}

std::vector<Told> changes_of(const ReportSource& source) {
    const Series series = series_of(source);
    const std::vector<StepChange> found = find_changes(series.lengths_ns);
    std::vector<Told> told;
    for (size_t i = 0; i < found.size(); ++i) {
        const size_t from = i == 0 ? 0 : found[i - 1].at,
                     to = i + 1 < found.size() ? found[i + 1].at : series.numbers.size();
        told.push_back({series.numbers[found[i].at], found[i].shift,
                        parts_of(medians_of(source, series.numbers[from], series.numbers[found[i].at] - 1),
                                 medians_of(source, series.numbers[found[i].at], series.numbers[to - 1]))});
    }
    return told;
}

std::string signed_text(double ns) { return (ns < 0 ? "-" : "+") + duration_text(std::abs(ns)); }

std::string cause_text(const Told& change) {
    std::string text;
    for (const PartOfChange& part : change.parts)
        if (std::abs(part.by_ns()) >= kWorthNaming * std::abs(change.shift.shift_ns()))
            text += (text.empty() ? "" : ", ") + part.name + " " + signed_text(part.by_ns());
    return text.empty() ? kNotTimed : text;
}

void write_text(const std::vector<Told>& changes, Report& report) {
    const char* word = "CHANGED    ";
    for (const Told& change : changes) {
        const MedianShift& shift = change.shift;
        const double by = shift.shift_ns();
        report.paragraph(
            word + std::string(by > 0 ? "slower" : "quicker") + " since step " + count_text(change.step) +
                ": " + duration_text(shift.new_ns) + ", " + duration_text(shift.base_ns) + " before (" +
                figure_text("%+.0f %%", 100 * by / shift.base_ns) + "; 99 %: " + signed_text(shift.low_ns) +
                " to " + signed_text(shift.high_ns) + "): " + cause_text(change),
            11);
        word = "           ";
    }
}

Json json_of(const Told& change) {
    Json parts = Json::array();
    for (const PartOfChange& part : change.parts)
        parts.push(Json::object({{"name", part.name},
                                 {"before_ns", to_int64(part.before_ns)},
                                 {"after_ns", to_int64(part.after_ns)}}));
    Facts facts;
    facts.known("step", change.step)
        .known("before_ns", to_int64(change.shift.base_ns))
        .known("after_ns", to_int64(change.shift.new_ns))
        .known("low_ns", to_int64(change.shift.low_ns))
        .known("high_ns", to_int64(change.shift.high_ns))
        .maybe("parts", change.parts.empty() ? std::nullopt : std::optional(std::move(parts)), kNotTimed);
    return facts.json();
}

void write(const ReportSource& source, Report& report) {
    const std::vector<Told> changes = changes_of(source);
    Json list = Json::array();
    for (const Told& change : changes) list.push(json_of(change));
    report.json.set("changes", std::move(list));
    write_text(changes, report);
}

constexpr Section kSection = {"changes", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_changes
