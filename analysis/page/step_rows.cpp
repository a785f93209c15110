#include "step_rows.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "../idle/cause.h"
#include "../report/gpu_label.h"
#include "../text/units.h"
#include "kept_call.h"
#include "timeline_colour.h"

namespace gpushim::analysis {

namespace {

constexpr int64_t kToDevice = 1, kToHost = 2;  // copy: its direction

// Each name is read once.
class Families {
  public:
    TimelineColour colour(const std::string& kernel) {
        const auto [found, is_new] = known_.try_emplace(kernel, TimelineColour::other);
        if (is_new) found->second = colour_of(group_of(classify(kernel).family));
        return found->second;
    }

  private:
    std::unordered_map<std::string, TimelineColour> known_;
};

TimelineColour colour_of(const KeptCall& call, Families& families) {
    using enum TimelineColour;
    if (call.is_collective) return collective;
    if (call.kind == "copy" && call.direction == kToDevice) return to_device;
    if (call.kind == "copy" && call.direction == kToHost) return to_host;
    if (call.kind == "copy" || call.kind == "memset") return memory;
    return call.kind == "graph" ? graph : families.colour(call.kernel);
}

TimelineColour colour_of_call(const std::string& kind, const std::string& kernel, Families& families) {
    using enum TimelineColour;
    if (kind == "launch") return families.colour(kernel);
    if (kind == "graph") return graph;
    if (kind == "sync") return wait;
    if (kind == "collective") return collective;
    return kind == "copy" ? to_device : other;
}

Query of_step(const ReportSource& source, const char* sql, const RankInStep& rank) {
    Query query = source.run.prepare(sql);
    query.bind(1, rank.rank_id);
    query.bind(2, rank.step);
    return query;
}

struct Track {
    TimelineRow row;
    double busy_ns = 0;

    TimelineSpan& add(double from_ns, double ns, TimelineColour colour, const std::string& name) {
        busy_ns += ns;
        row.spans.push_back({from_ns, from_ns + ns, static_cast<size_t>(colour), name});
        return row.spans.back();
    }
};

template <class Key>
std::vector<TimelineRow> busiest(std::map<Key, Track>& tracks, size_t most) {
    std::vector<Key> keys;
    for (const auto& [key, track] : tracks) keys.push_back(key);
    std::stable_sort(keys.begin(), keys.end(),
                     [&](const Key& a, const Key& b) { return tracks.at(a).busy_ns > tracks.at(b).busy_ns; });
    keys.resize(std::min(keys.size(), most));
    std::vector<TimelineRow> rows;
    for (const Key& key : keys) {
        TimelineRow& row = tracks.at(key).row;
        std::stable_sort(row.spans.begin(), row.spans.end(),
                         [](const TimelineSpan& a, const TimelineSpan& b) { return a.from_ns < b.from_ns; });
        rows.push_back(std::move(row));
    }
    return rows;
}

struct Collective {
    int64_t wait_ns = 0;  // for other ranks
    std::string words = {};
};

// "Collective: allreduce, 17.6 MB": kernels of some versions of NCCL do not say in their names what they do.
std::string words_of_collective(const std::string& op, std::optional<int64_t> bytes) {
    if (op.empty() || op == "unnamed") return "";
    return "collective: " + shown(op) + (bytes ? ", " + bytes_text(static_cast<double>(*bytes)) : "");
}

// By when their kernels began.
std::map<int64_t, Collective> collectives_of(const ReportSource& source, const RankInStep& rank) {
    std::map<int64_t, Collective> all;
    Query rows = of_step(
        source,
        "SELECT start_ns, coalesce(wait_ns, 0), coalesce(op, ''), CASE WHEN calls = 1 THEN bytes END"
        " FROM collective_instance,"
        " (SELECT max(before) AS back FROM kept_call WHERE rank_id = ?1 AND step = ?2) WHERE rank_id = ?1"
        " AND (step BETWEEN ?2 - back AND ?2 OR step IS NULL AND back > ?2)"
        " AND start_ns IS NOT NULL",
        rank);
    while (rows.step())
        all[rows.number(0)] = {rows.number(1), words_of_collective(rows.text(2), rows.maybe(3))};
    return all;
}

}  // namespace

std::vector<TimelineRow> stream_rows(const ReportSource& source, const KernelNames& names,
                                     const RankInStep& rank, size_t most) {
    std::map<std::pair<int64_t, int64_t>, Track> tracks;
    const std::map<int64_t, Collective> collectives = collectives_of(source, rank);
    const CallWords words(source, names, rank);
    Families families;
    for (Query rows = kept_operations(source, rank); rows.step();) {
        KeptCall call(rows);
        Track& track = tracks[{call.device, call.stream}];
        const std::string whole = names.id_of(source, call.kernel);
        std::vector<std::string> details = words.details(call, !whole.empty());
        const auto found = collectives.find(call.start_ns);
        const Collective collective = found == collectives.end() ? Collective{} : found->second;
        if (call.is_collective && !collective.words.empty()) details.push_back(collective.words);
        const auto add = [&](int64_t from_ns, int64_t ns, TimelineColour colour, const std::string& name) {
            TimelineSpan& span =
                track.add(static_cast<double>(rank.here(from_ns)), static_cast<double>(ns), colour, name);
            span.details = details;
            span.more = whole;
            span.is_before = call.before > 0;
        };
        int64_t waited_ns = 0;
        if (collective.wait_ns > 0 && collective.wait_ns <= call.ran_ns) {
            waited_ns = collective.wait_ns;
            add(call.start_ns, waited_ns, TimelineColour::peer, "waits for other ranks");
        }
        add(call.start_ns + waited_ns, call.ran_ns - waited_ns, colour_of(call, families), words.name(call));
    }
    const bool one_device = tracks.empty() || tracks.begin()->first.first == tracks.rbegin()->first.first;
    for (auto& [key, track] : tracks)
        track.row.label = (one_device ? "" : "GPU " + std::to_string(key.first) + " ") + "stream " +
                          std::to_string(key.second);
    return busiest(tracks, most);
}

std::vector<TimelineRow> idle_rows(const ReportSource& source, const RankInStep& rank, size_t most) {
    const auto labels = gpu_labels(source.run);
    Query rows = of_step(source,
                         "SELECT g.gpu_id, p.cause, p.longest_from_ns, p.longest_ns FROM gap p"
                         " JOIN gpu g ON g.gpu_id = p.gpu_id"
                         " WHERE g.rank_id = ?1 AND p.step = ?2 AND p.longest_ns > 0"
                         " ORDER BY g.gpu_id, p.longest_from_ns",
                         rank);
    std::map<int64_t, Track> tracks;
    while (rows.step()) {
        Track& track = tracks[rows.number(0)];
        track.row.is_outlined = true;
        TimelineSpan& span = track.add(rows.real(2) + static_cast<double>(rank.offset_ns), rows.real(3),
                                       TimelineColour::other, rows.text(1));
        if (const std::string words = said_of(rows.text(1)); !words.empty()) span.details = {words};
    }
    for (auto& [gpu_id, track] : tracks) {
        std::string gpu = labels.at(gpu_id).text;
        if (gpu.starts_with(rank.rank + " ")) gpu.erase(0, rank.rank.size() + 1);  // the drawing says whose
        track.row.label = tracks.size() > 1 ? "idle, " + gpu : "idle, longest";
    }
    return busiest(tracks, most);
}

std::vector<TimelineRow> thread_rows(const ReportSource& source, const KernelNames& names,
                                     const RankInStep& rank, size_t most) {
    Query rows = of_step(
        source,
        "SELECT c.kind, c.tid, c.enter_ns, c.dur_ns, coalesce(t.text, ''), coalesce(k.name, ''),"
        " CASE c.kind WHEN 'launch' THEN w.text END, c.start_ns - c.enter_ns"
        " FROM kept_call c LEFT JOIN kept_text t ON t.rank_id = c.rank_id AND t.id = c.name_id"
        " LEFT JOIN kept_text w ON w.rank_id = c.rank_id AND w.id = c.what_id"
        " LEFT JOIN kept_track k ON k.rank_id = c.rank_id AND k.kind = 'thread' AND k.number = c.tid"
        " WHERE c.rank_id = ?1 AND c.step = ?2 AND c.before = 0 AND c.dur_ns IS NOT NULL"
        " AND c.tid IS NOT NULL AND c.kind NOT IN ('gap', 'range', 'process_range', 'mark') ORDER BY c.nth",
        rank);
    std::map<int64_t, Track> tracks;
    Families families;
    while (rows.step()) {
        Track& track = tracks[rows.number(1)];
        if (track.row.spans.empty()) {
            std::string name = source.name("thread", rows.text(5));
            // There is room for the number and the name of "thread 25738 (trainer)".
            if (name.starts_with("thread ")) name.erase(0, name.find(' ') + 1);
            track.row.label = name.empty() ? "thread" : name;
        }
        const std::string kernel = rows.text(6);
        TimelineSpan& span = track.add(rows.real(2) + static_cast<double>(rank.offset_ns), rows.real(3),
                                       colour_of_call(rows.text(0), kernel, families), shown(rows.text(4)));
        span.details = {rank.rank + ", thread " + track.row.label};
        if (kernel.empty()) continue;
        span.more = names.id_of(source, kernel);
        span.details.push_back("launches " + shown(source.short_kernel_name(names.name_of(kernel))) +
                               (rows.is_null(7)
                                    ? "; when that began is not recorded"
                                    : "; that began " + duration_text(rows.real(7)) + " after this call"));
    }
    return busiest(tracks, most);
}

}  // namespace gpushim::analysis
