#include "hang_ends.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "../../shim/schema/flags.h"
#include "../trace/event_tables.h"
#include "../trace/open_calls.h"
#include "../trace/plausible.h"

namespace gpushim::analysis {

namespace {

constexpr const char* kLastRows = "1000";

bool waits_for_others(std::string_view kind) {
    constexpr std::string_view kKinds[] = {"sync", "collective", "communicator", "group",
                                           "copy", "memset",     "launch",       "graph_launch"};
    return std::ranges::find(kKinds, kind) != std::end(kKinds);
}

// What a program goes on asking while it waits.
bool is_question(std::string_view call) {
    return call == "cuStreamQuery" || call == "cuEventQuery" || call == "ncclCommGetAsyncError";
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
        if (until_ns > seen.last_ns && !is_question(row.text(2))) {
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

// Which line of Python a thread was in last, if it was seen there since that call.
void read_python(const Database& base, LastSeen& seen) {
    if (base.has("hang_thread")) {
        Query row = base.prepare(
            "SELECT python FROM hang_thread WHERE python IS NOT NULL AND mono_ns > ?1 ORDER BY mono_ns DESC, "
            "call "
            "IS NULL LIMIT 1");
        row.bind(1, seen.open_call.empty() ? seen.last_ns : seen.open_since_ns);
        if (row.step()) seen.python = row.text(0).substr(0, row.text(0).find('\n'));
    }
    if (!seen.python.empty() || !base.has("python_sample")) return;
    Query row = base.prepare(
        "SELECT c.file || ':' || coalesce(f.line, '?') || ' ' || c.function FROM (SELECT * FROM "
        "python_sample "
        "WHERE enter_ns > ?1 ORDER BY enter_ns DESC LIMIT 1) s JOIN python_frame f ON f.id = s.frame_id JOIN "
        "python_code c ON c.id = f.code_id");
    row.bind(1, seen.last_ns);
    if (seen.open_call.empty() && row.step()) seen.python = row.text(0);
}

void read_alive(const Database& base, LastSeen& seen) {
    seen.alive_ns = seen.last_ns;
    for (const char* table : {"clock", "nvml"}) {
        if (!base.has(table)) continue;
        Query last = base.prepare(std::string("SELECT max(mono_ns) FROM ") + table);
        if (last.step() && !last.is_null(0)) seen.alive_ns = std::max(seen.alive_ns, last.number(0));
    }
}

// Point to point is counted for each pair of ranks.
constexpr const char* kNoPairs = " NOT IN (SELECT id FROM api WHERE base IN ('ncclSend', 'ncclRecv'))";

void read_collectives(const Database& base, LastSeen& seen) {
    if (!base.has("communicator")) return;
    Query row = base.prepare(
        std::string("SELECT c.uid, l.seq, coalesce(a.base, a.name, ''), c.ranks FROM communicator c JOIN "
                    "collective l ON l.enter_ns = (SELECT max(o.enter_ns) FROM collective o WHERE "
                    "o.communicator_id = c.id AND o.api_id") +
        kNoPairs + ") LEFT JOIN api a ON a.id = l.api_id WHERE l.seq IS NOT NULL");
    while (row.step()) {
        if (!row.is_null(3)) seen.communicator_ranks[row.text(0)] = row.number(3);
        if (const auto place = seen.collectives.find(row.text(0));
            place == seen.collectives.end() || place->second.sequence < row.number(1))
            seen.collectives[row.text(0)] = {row.number(1), row.text(2)};
    }
}

// The last ones, to be compared with what other ranks have called in their place.
void read_recent(const Database& base, LastSeen& seen) {
    if (!base.has("communicator") || !base.has("collective")) return;
    Query row = base.prepare(
        std::string("SELECT c.uid, r.seq, coalesce(a.base, a.name, ''), r.bytes, r.peer FROM (SELECT * FROM "
                    "collective WHERE api_id") +
        kNoPairs + " ORDER BY enter_ns DESC LIMIT " + kLastRows +
        ") r JOIN communicator c ON c.id = r.communicator_id LEFT JOIN api a ON a.id = r.api_id"
        " WHERE r.seq IS NOT NULL ORDER BY r.enter_ns DESC");
    while (row.step()) {
        if (!seen.newest) seen.newest = {row.text(0), row.number(1), row.text(2)};
        seen.recent[row.text(0)][row.number(1)] = {row.text(2), row.maybe(3), row.maybe(4)};
    }
}

// Marks of a thread: a step lasts until the next one. Ranges are steps only if a report finds that they are.
void read_steps(const Database& base, LastSeen& seen) {
    if (!base.has("step_total")) return;
    Query row = base.prepare(std::string("SELECT thread_id, enter_ns, steps FROM step_total WHERE source = "
                                         "'mark' ORDER BY enter_ns DESC LIMIT ") +
                             kLastRows);
    std::map<int64_t, int64_t> next_ns;  // by thread
    std::vector<int64_t> lengths_ns;
    while (row.step()) {
        const int64_t thread = row.maybe(0).value_or(0), enter_ns = plausible_time(row.number(1));
        if (const auto next = next_ns.find(thread); next != next_ns.end() && row.number(2) > 0)
            lengths_ns.push_back((next->second - enter_ns) / row.number(2));
        next_ns[thread] = enter_ns;
    }
    if (lengths_ns.empty()) return;
    const auto middle = lengths_ns.begin() + static_cast<int64_t>(lengths_ns.size() / 2);
    std::ranges::nth_element(lengths_ns, middle);
    seen.step_ns = *middle;
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
    seen.world_size = trace.world_size;
    seen.clock = fact(trace.base, "boot_id");
    seen.has_ended = ended != "no" && ended != "recovered";
    seen.pid = trace.pid;
    seen.trace = trace.path;
    if (ended == "recovered") seen.process = ProcessNow::gone;
    for (const EventTable& table : event_tables_of(trace.base))
        if (std::string_view(table.name) != "marker") read_end(trace.base, table.name, seen);
    if (ended == "no") read_live(trace, seen);
    read_alive(trace.base, seen);
    read_collectives(trace.base, seen);
    read_recent(trace.base, seen);
    read_steps(trace.base, seen);
    read_python(trace.base, seen);
    return seen;
}

}  // namespace

std::optional<std::vector<LastSeen>> ends_of(const std::vector<Trace>& traces) {
    std::vector<LastSeen> ranks;
    for (const Trace& trace : traces) {
        auto seen = last_seen(trace);
        if (!seen) return {};
        ranks.push_back(std::move(*seen));
    }
    return ranks;
}

}  // namespace gpushim::analysis
