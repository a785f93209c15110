#include "trust_rows.h"

#include <algorithm>
#include <map>

#include "../../shim/schema/flags.h"
#include "../text/escape.h"
#include "../text/units.h"
#include "../trace/device_source.h"
#include "../trace/dropped_spans.h"
#include "../trace/event_tables.h"
#include "../trace/timeline.h"

namespace gpushim::analysis {

namespace {

void add_levels(const Trace& trace, TrustRows& rows) {
    for (const std::string table : kOperationTables) {
        Query levels =
            trace.base.prepare("SELECT e.queued, count(*) FROM " + table +
                               "_device d JOIN level_error e ON e.id = d.level_error_id GROUP BY 1");
        int64_t timed = 0;
        while (levels.step()) {
            (levels.number(0) != 0 ? rows.queued : rows.unqueued) += levels.number(1);
            timed += levels.number(1);
        }
        Query all = trace.base.prepare("SELECT count(*) FROM " + table + " WHERE " + kRan.sql());
        if (all.step()) rows.host += std::max(int64_t{0}, all.number(0) - timed);
    }
}

// Streams that wait for the legacy stream, and whether one was given something in a span.
class JoiningStreams {
  public:
    explicit JoiningStreams(const Trace& trace) : base_(trace.base) {
        const Timeline timeline(trace);
        for (const Lane& lane : timeline.lanes())
            if (lane.joins_legacy) ids_ += (ids_.empty() ? "" : ", ") + std::to_string(lane.stream_id);
    }
    bool used_in(Interval span) const {
        if (ids_.empty()) return false;
        for (const std::string table : kOperationTables) {
            Query used = base_.prepare("SELECT 1 FROM " + table + " WHERE enter_ns BETWEEN ?1 AND ?2 AND" +
                                       " stream_id IN (" + ids_ + ") LIMIT 1");
            used.bind(1, span.start_ns);
            used.bind(2, span.end_ns);
            if (used.step()) return true;
        }
        return false;
    }
    bool any() const { return !ids_.empty(); }

  private:
    const Database& base_;
    std::string ids_;
};

// A window has a row for each device. Where rows are gone, one of a device may be the sum of several: there
// they are added up by device, and the device with the most tells.
void add_legacy_events(const Trace& trace, TrustRows& rows) {
    std::map<int64_t, std::map<int64_t, int64_t>>
        places;  // by start of the window or of what is gone, by device
    std::map<int64_t, bool> is_barrier;
    const JoiningStreams joining(trace);
    const Intervals gone = dropped_spans(trace);
    rows.rows_gone |= !gone.empty();
    Query query = trace.base.prepare("SELECT enter_ns, dur_ns, legacy_events, device_id FROM \"window\"");
    while (query.step()) {
        const int64_t enter_ns = query.number(0);
        const auto in = std::find_if(gone.begin(), gone.end(), [&](const Interval& span) {
            return enter_ns < span.end_ns && enter_ns + query.number(1) > span.start_ns;
        });
        const int64_t place = in != gone.end() ? in->start_ns : enter_ns;
        places[place][query.number(3)] += query.number(2);
        if (query.number(2) == 0 || is_barrier[place]) continue;
        is_barrier[place] =
            in != gone.end() ? joining.any() : joining.used_in({enter_ns, enter_ns + query.number(1)});
    }
    for (const auto& [start_ns, devices] : places) {
        int64_t most = 0;
        for (const auto& [device, events] : devices) most = std::max(most, events);
        rows.legacy_events += most;
        if (is_barrier[start_ns]) rows.barriers += most;
    }
}

// A trace has it from a call's return on, and below 0 where the GPU is faster; the run from the call's begin.
void add_latency(const Trace& trace, TrustRows& rows) {
    Query latency = trace.base.prepare("SELECT max(latency_ns) FROM device_clock");
    rows.has_latency |= latency.step() && !latency.is_null(0);
}

// Traces of before do not have it.
void add_grain(const Trace& trace, TrustRows& rows) {
    if (!trace.base.columns_of("device_clock").contains("grain_ns")) return;
    Query grain = trace.base.prepare("SELECT max(grain_ns) FROM device_clock");
    if (grain.step() && !grain.is_null(0))
        rows.grain_ns = std::max(rows.grain_ns.value_or(0), grain.number(0));
}

void add_refusals(const Trace& trace, TrustRows& rows) {
    Query refusals = trace.base.prepare("SELECT DISTINCT api, why, error FROM refusal");
    while (refusals.step())
        rows.refusals.push_back({trace.label(), refusals.text(0), refusals.text(1), refusals.maybe(2)});
}

// Traces of before do not have it.
void add_unanswered(const Trace& trace, TrustRows& rows) {
    if (trace.base.columns_of("unanswered").empty()) return;
    Query questions = trace.base.prepare("SELECT asked, unknown, error FROM unanswered ORDER BY rowid");
    while (questions.step())
        rows.unanswered.push_back({trace.label(), questions.text(0), questions.text(1), questions.maybe(2)});
}

Json json_of(const std::vector<TrustRows::Refusal>& refusals, const char* why) {
    Json all = Json::array();
    for (const TrustRows::Refusal& refusal : refusals)
        all.push(Json::object({{"trace", refusal.rank},
                               {"api", refusal.api},
                               {"error", refusal.error ? Json(*refusal.error) : Json("none")},
                               {why, refusal.why}}));
    return all;
}

// "cuDeviceGetName returned 999".
std::string answer_text(const TrustRows::Refusal& question) {
    return question.api + (question.error ? " returned " + std::to_string(*question.error) : " is not there");
}

}  // namespace

TrustRows trust_rows_of(const Inputs& inputs) {
    TrustRows rows;
    for (const Trace& trace : inputs.traces) {
        if (const auto note = device_source_note(trace.base))
            rows.sources.push_back(trace.label() + ": " + *note);
        if (!has_device_times(trace)) continue;
        rows.recorded = true;
        add_levels(trace, rows);
        rows.by_cupti = rows.by_cupti && is_timed_by_cupti(trace.base);
        add_legacy_events(trace, rows);
        add_latency(trace, rows);
        add_grain(trace, rows);
        add_refusals(trace, rows);
        add_unanswered(trace, rows);
    }
    return rows;
}

void write_trust_rows(const TrustRows& rows, bool all, Report& report, Facts& facts) {
    constexpr size_t kMostRefusals = 3;
    if (all && rows.queued + rows.unqueued + rows.host > 0 && rows.recorded)
        report.line("        " +
                    (rows.by_cupti ? count_text(rows.queued) + " have CUPTI's times; "
                                   : count_text(rows.queued) + " waited in their queue: measured; " +
                                         count_text(rows.unqueued) + " did not: estimated, with bounds; ") +
                    count_text(rows.host) + " have host times only" +
                    (rows.rows_gone ? " (of the rows that were kept)" : ""));
    // Of less nothing is in the bounds.
    if (all && rows.grain_ns.value_or(0) > 0)
        report.line("        time stamps are multiples of " +
                    duration_text(static_cast<double>(*rows.grain_ns)) + "; the bounds include this");
    const int64_t operations_seen = rows.queued + rows.unqueued + rows.host;
    if (rows.barriers != 0 && (all || rows.barriers * 100 >= operations_seen))
        report.line("note    " + count_text(rows.barriers) +
                    " events of gpushim on the legacy stream, where each is a barrier for the streams that "
                    "wait for it (GPUSHIM_LEGACY_EVENTS=0 avoids them)");
    for (size_t i = 0; i < rows.refusals.size() && i < kMostRefusals; ++i) {
        const TrustRows::Refusal& refusal = rows.refusals[i];
        const bool says_of_what = refusal.why.find("device times") != std::string::npos;
        report.line("note    " + refusal.rank + (says_of_what ? ": " : ": device times: ") +
                    for_terminal(refusal.api.empty() ? refusal.why : refusal.api + ": " + refusal.why));
    }
    for (size_t i = 0; i < rows.unanswered.size() && i < kMostRefusals; ++i) {
        const TrustRows::Refusal& question = rows.unanswered[i];
        report.line("note    " + question.rank +
                    ": not known: " + for_terminal(question.why + " (" + answer_text(question) + ")"));
    }
    for (size_t i = 0; i < rows.sources.size() && i < kMostRefusals; ++i)
        report.line("note    " + for_terminal(rows.sources[i]));
    const auto counted = [&](int64_t count) { return rows.recorded ? Json(count) : Json(); };
    Json operations = Json::object({{"queued", counted(rows.queued)},
                                    {"unqueued", counted(rows.unqueued)},
                                    {"host", counted(rows.host)}});
    facts.known("operations", std::move(operations)).known("legacy_events", counted(rows.legacy_events));
    if (!rows.recorded) facts.missing("operations", "device times are not recorded");
    if (rows.rows_gone) facts.known("rows_gone", true);
    facts.maybe("grain_ns", rows.grain_ns, "not recorded")
        .known("refusals", json_of(rows.refusals, "why"))
        .known("unanswered", json_of(rows.unanswered, "unknown"));
}

}  // namespace gpushim::analysis
