#include "hang.h"

#include <algorithm>

#include "../../shim/schema/flags.h"
#include "../trace/event_tables.h"
#include "../trace/open_calls.h"

namespace gpushim::analysis {

namespace {

constexpr int64_t kLeastNs = 2'000'000'000, kWithoutStepsNs = 10'000'000'000;
constexpr int64_t kSteps = 20;  // so many usual ones at least
constexpr const char* kLastRows = "1000";

int64_t threshold_ns(std::optional<int64_t> step_ns) {
    return step_ns ? std::max(kLeastNs, kSteps * *step_ns) : kWithoutStepsNs;
}

// By name and number where they are furthest apart; of one communicator alone, of that.
std::string widest_communicator(const std::vector<LastSeen>& ranks) {
    std::map<std::string, std::pair<int64_t, int64_t>> ends;
    for (const LastSeen& rank : ranks)
        for (const auto& [name, last] : rank.collectives) {
            const auto [place, is_new] = ends.try_emplace(name, last.sequence, last.sequence);
            auto& [low, high] = place->second;
            low = std::min(low, last.sequence);
            high = std::max(high, last.sequence);
        }
    std::string widest;
    int64_t most = -1;
    for (const auto& [name, range] : ends)
        if (range.second - range.first > most) {
            most = range.second - range.first;
            widest = name;
        }
    return widest;
}

HungRank hung(const LastSeen& rank, int64_t now_ns, const std::string& communicator, const Hang& hang) {
    HungRank result = {};
    result.rank = rank.rank;
    result.label = rank.label;
    result.call = rank.last_call;
    result.for_ns = now_ns - rank.last_ns;
    result.has_ended = rank.has_ended;
    result.is_inside = !rank.open_call.empty();
    if (result.is_inside) {
        result.call = rank.open_call;
        result.for_ns = now_ns - rank.open_since_ns;
    }
    if (const auto last = rank.collectives.find(communicator); last != rank.collectives.end()) {
        result.collective = last->second.name;
        result.sequence = last->second.sequence;
    }
    result.is_behind = result.sequence < hang.last_sequence;
    return result;
}

bool waits_for_others(const std::string& kind) {
    return kind == "sync" || kind == "collective" || kind == "copy" || kind == "launch";
}

// Of one table of calls; only its end is read.
void read_end(const Database& base, const std::string& table, LastSeen& seen) {
    if (!base.has(table.c_str())) return;
    const std::string api =
        table == "launch" ? "(SELECT api_id FROM shape WHERE id = r.shape_id)" : "r.api_id";
    Query row = base.prepare("SELECT r.enter_ns, r.dur_ns, coalesce(a.base, a.name, ''), " +
                             sql_bit(kRowUnfinished, "r") + " FROM (SELECT * FROM " + table +
                             " ORDER BY enter_ns DESC LIMIT " + kLastRows +
                             ") r LEFT JOIN api a ON a.id = " + api + " ORDER BY r.enter_ns DESC");
    while (row.step()) {
        const int64_t enter_ns = row.number(0), until_ns = enter_ns + row.maybe(1).value_or(0);
        const bool is_open = row.is_null(1) && row.number(3) != 0;
        if (until_ns > seen.last_ns) {
            seen.last_ns = until_ns;
            seen.last_call = row.text(2);
        }
        if (is_open && (seen.open_call.empty() || enter_ns < seen.open_since_ns)) {
            seen.open_call = row.text(2);
            seen.open_since_ns = enter_ns;
            seen.open_waits = waits_for_others(table);
        }
    }
}

// Of a process that lives: no row tells of a call before it returns.
void read_live(const Trace& trace, LastSeen& seen) {
    for (const OpenCall& call : open_calls_of(trace.path)) {
        if (!seen.open_call.empty() && call.enter_ns >= seen.open_since_ns) continue;
        seen.open_call = call.name;
        seen.open_since_ns = call.enter_ns;
        seen.open_waits = waits_for_others(call.kind);
        seen.last_ns = std::max(seen.last_ns, call.enter_ns);
    }
}

void read_alive(const Database& base, LastSeen& seen) {
    seen.alive_ns = seen.last_ns;
    for (const char* table : {"clock", "nvml"}) {
        if (!base.has(table)) continue;
        Query last = base.prepare(std::string("SELECT max(mono_ns) FROM ") + table);
        if (last.step() && !last.is_null(0)) seen.alive_ns = std::max(seen.alive_ns, last.number(0));
    }
}

void read_collectives(const Database& base, LastSeen& seen) {
    if (!base.has("communicator")) return;
    Query row = base.prepare(
        "SELECT c.uid, l.seq, coalesce(a.base, a.name, '') FROM communicator c JOIN collective l ON "
        "l.enter_ns ="
        " (SELECT max(o.enter_ns) FROM collective o WHERE o.communicator_id = c.id AND o.peer IS NULL)"
        " LEFT JOIN api a ON a.id = l.api_id WHERE l.seq IS NOT NULL");
    while (row.step())
        if (const auto place = seen.collectives.find(row.text(0));
            place == seen.collectives.end() || place->second.sequence < row.number(1))
            seen.collectives[row.text(0)] = {row.number(1), row.text(2)};
}

std::string fact(const Database& base, const char* key) {
    Query row = base.prepare("SELECT value FROM meta WHERE key = ?1");
    row.bind(1, std::string(key));
    return row.step() ? row.text(0) : "";
}

// Imported traces do not say how they ended.
std::optional<LastSeen> last_seen(const Trace& trace) {
    const std::string ended = fact(trace.base, "ended");
    if (ended.empty()) return {};
    LastSeen seen;
    seen.label = trace.label();
    seen.rank = trace.rank;
    seen.clock = fact(trace.base, "boot_id");
    seen.has_ended = ended != "no" && ended != "recovered";
    for (const EventTable& table : event_tables_of(trace.base))
        if (std::string_view(table.name) != "marker") read_end(trace.base, table.name, seen);
    if (ended == "no") read_live(trace, seen);
    read_alive(trace.base, seen);
    read_collectives(trace.base, seen);
    return seen;
}

}  // namespace

std::optional<Hang> judge(const std::vector<LastSeen>& ranks, std::optional<int64_t> step_ns) {
    std::map<std::string, int64_t> now_ns;
    for (const LastSeen& rank : ranks)
        now_ns[rank.clock] = std::max(now_ns[rank.clock], std::max(rank.alive_ns, rank.last_ns));
    Hang hang = {INT64_MAX, {}, -1, "", {}, {}};
    bool waits = false;
    for (const LastSeen& rank : ranks) {
        if (rank.has_ended) continue;
        hang.for_ns = std::min(hang.for_ns, now_ns[rank.clock] - rank.last_ns);
        waits |= rank.open_waits;
    }
    if (!waits || hang.for_ns < threshold_ns(step_ns)) return {};
    if (step_ns && *step_ns > 0)
        hang.steps = static_cast<double>(hang.for_ns) / static_cast<double>(*step_ns);
    const std::string communicator = widest_communicator(ranks);
    for (const LastSeen& rank : ranks)
        if (const auto last = rank.collectives.find(communicator);
            last != rank.collectives.end() && last->second.sequence > hang.last_sequence) {
            hang.last_sequence = last->second.sequence;
            hang.last_collective = last->second.name;
        }
    for (const LastSeen& rank : ranks) {
        HungRank one = hung(rank, now_ns[rank.clock], communicator, hang);
        one.is_silent = !rank.has_ended && now_ns[rank.clock] - rank.alive_ns >= threshold_ns(step_ns);
        const bool is_missing = !rank.open_waits || one.is_behind || one.is_silent;
        (is_missing ? hang.missing : hang.waiting).push_back(std::move(one));
    }
    return hang;
}

std::optional<Hang> hang_of(const ReportSource& source) {
    if (source.traces == nullptr) return {};
    std::vector<LastSeen> ranks;
    for (const Trace& trace : source.traces->traces) {
        auto seen = last_seen(trace);
        if (!seen) return {};
        ranks.push_back(std::move(*seen));
    }
    Query step = source.run.prepare(
        "SELECT value FROM metric WHERE scope = 'run' AND name = 'step_median_ns' AND value > 0");
    return judge(ranks, step.step() ? std::optional(step.number(0)) : std::nullopt);
}

}  // namespace gpushim::analysis
