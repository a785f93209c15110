#include "kept_step.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "../report/gpu_label.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kMostStreams = 10, kMostThreads = 4;
enum Colour : size_t { kKernel, kH2d, kCollective, kWait, kPeer, kD2h, kOtherCopy, kOther };

constexpr int64_t kToDevice = 1, kToHost = 2;  // copy: its direction

struct Looks {
    size_t colour;
    const char* name;  // where nothing better is recorded
};

Looks looks_of(const std::string& kind, bool is_nccl, int64_t direction) {
    if (is_nccl) return {kCollective, "collective"};
    if (kind == "copy" && direction == kToDevice) return {kH2d, "copy to the device"};
    if (kind == "copy" && direction == kToHost) return {kD2h, "copy to the host"};
    if (kind == "copy") return {kOtherCopy, "copy"};
    if (kind == "memset") return {kOther, "memset"};
    return {kKernel, kind == "graph" ? "graph" : "kernel"};
}

size_t colour_of_call(const std::string& kind) {
    if (kind == "launch" || kind == "graph") return kKernel;
    if (kind == "sync") return kWait;
    if (kind == "collective") return kCollective;
    return kind == "copy" ? kH2d : kOther;
}

Query of_step(const ReportSource& source, const char* sql, const KeptStep& step) {
    Query query = source.run.prepare(sql);
    query.bind(1, step.rank_id);
    query.bind(2, step.step);
    return query;
}

struct Track {
    TimelineRow row;
    double busy_ns = 0;

    void add(double from_ns, double ns, size_t colour, const std::string& name) {
        row.spans.push_back({from_ns, from_ns + ns, colour, name});
        busy_ns += ns;
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

}  // namespace

std::vector<KeptStep> kept_steps(const ReportSource& source) {
    std::vector<KeptStep> all;
    if (!source.run.has("kept_step")) return all;
    Query rows = source.run.prepare(
        "SELECT k.rank_id, k.step, s.number, s.begin_ns, s.dur_ns, k.left_out, k.why,"
        " coalesce('rank ' || r.rank, 'process ' || r.pid)"
        " FROM kept_step k JOIN step s ON s.rank_id = k.rank_id AND s.step = k.step"
        " JOIN rank r ON r.rank_id = k.rank_id"
        " WHERE k.rank_id = (SELECT l.rank_id FROM kept_step l JOIN step t ON t.rank_id = l.rank_id"
        "  AND t.step = l.step ORDER BY t.dur_ns DESC, l.rank_id LIMIT 1) ORDER BY k.why");
    while (rows.step())
        all.push_back({rows.number(0), rows.number(1), rows.number(2), rows.number(3), rows.number(4),
                       rows.number(5), rows.text(7), rows.text(6)});
    return all;
}

std::vector<LegendEntry> timeline_colours() {
    return {{"kernel, launch", kKernel},     {"copy to the device", kH2d},
            {"collective", kCollective},     {"wait of a thread", kWait},
            {"wait for other ranks", kPeer}, {"copy to the host", kD2h},
            {"other copy", kOtherCopy},      {"other", kOther}};
}

namespace {

// By when its kernel began: for how long the rank waited in a collective for others.
std::map<int64_t, double> waits_of(const ReportSource& source, const KeptStep& step) {
    std::map<int64_t, double> waits;
    Query rows = of_step(source,
                         "SELECT start_ns, wait_ns FROM collective_instance WHERE rank_id = ?1 AND step = ?2"
                         " AND start_ns IS NOT NULL AND wait_ns > 0",
                         step);
    while (rows.step()) waits[rows.number(0)] = rows.real(1);
    return waits;
}

}  // namespace

std::vector<TimelineRow> stream_rows(const ReportSource& source, const KeptStep& step) {
    Query rows =
        of_step(source,
                "SELECT c.kind, c.device_id, c.stream, c.start_ns, c.ran_ns, c.group_id IS NOT NULL,"
                " coalesce(w.text, ''), coalesce(c.n1, 0) FROM kept_call c"
                " LEFT JOIN kept_text w ON w.rank_id = c.rank_id AND w.id = c.what_id"
                " WHERE c.rank_id = ?1 AND c.step = ?2 AND c.start_ns IS NOT NULL AND c.ran_ns IS NOT NULL"
                " ORDER BY c.nth",
                step);
    std::map<std::pair<int64_t, int64_t>, Track> tracks;
    bool several_devices = false;
    const std::map<int64_t, double> waits = waits_of(source, step);
    while (rows.step()) {
        const std::pair<int64_t, int64_t> key = {rows.number(1), rows.number(2)};
        Track& track = tracks[key];
        several_devices |= key.first != tracks.begin()->first.first;
        const Looks looks = looks_of(rows.text(0), rows.number(5) != 0, rows.number(7));
        const std::string kernel = rows.text(0) == "launch" ? source.name("kernel", rows.text(6)) : "";
        double from_ns = rows.real(3), ns = rows.real(4);
        if (const auto wait = waits.find(rows.number(3)); wait != waits.end() && wait->second <= ns) {
            track.add(from_ns, wait->second, kPeer, "waits for other ranks");
            from_ns += wait->second;
            ns -= wait->second;
        }
        track.add(from_ns, ns, looks.colour, kernel.empty() ? looks.name : kernel);
    }
    for (auto& [key, track] : tracks)
        track.row.label = (several_devices ? "GPU " + std::to_string(key.first) + " " : "") + "stream " +
                          std::to_string(key.second);
    return busiest(tracks, kMostStreams);
}

std::vector<TimelineRow> idle_rows(const ReportSource& source, const KeptStep& step) {
    const auto labels = gpu_labels(source.run);
    Query rows = of_step(source,
                         "SELECT g.gpu_id, p.cause, p.longest_from_ns, p.longest_ns FROM gap p"
                         " JOIN gpu g ON g.gpu_id = p.gpu_id"
                         " WHERE g.rank_id = ?1 AND p.step = ?2 AND p.longest_ns > 0"
                         " ORDER BY g.gpu_id, p.longest_from_ns",
                         step);
    std::map<int64_t, Track> tracks;
    while (rows.step()) {
        Track& track = tracks[rows.number(0)];
        track.row.is_outlined = true;
        track.add(rows.real(2), rows.real(3), kOther, rows.text(1));
    }
    for (auto& [gpu_id, track] : tracks)
        track.row.label = tracks.size() > 1 ? "idle, " + labels.at(gpu_id).text : "idle, longest";
    return busiest(tracks, kMostStreams);
}

std::vector<TimelineRow> thread_rows(const ReportSource& source, const KeptStep& step) {
    Query rows =
        of_step(source,
                "SELECT c.kind, c.tid, c.enter_ns, c.dur_ns, coalesce(t.text, ''), coalesce(k.name, '')"
                " FROM kept_call c LEFT JOIN kept_text t ON t.rank_id = c.rank_id AND t.id = c.name_id"
                " LEFT JOIN kept_track k ON k.rank_id = c.rank_id AND k.kind = 'thread' AND k.number = c.tid"
                " WHERE c.rank_id = ?1 AND c.step = ?2 AND c.dur_ns IS NOT NULL AND c.tid IS NOT NULL"
                " AND c.kind NOT IN ('gap', 'range', 'process_range', 'mark') ORDER BY c.nth",
                step);
    std::map<int64_t, Track> tracks;
    while (rows.step()) {
        Track& track = tracks[rows.number(1)];
        if (track.row.spans.empty()) {
            const std::string name = source.name("thread", rows.text(5));
            track.row.label = name.empty() ? "thread" : name;
        }
        track.add(rows.real(2), rows.real(3), colour_of_call(rows.text(0)), shown(rows.text(4)));
    }
    return busiest(tracks, kMostThreads);
}

}  // namespace gpushim::analysis
