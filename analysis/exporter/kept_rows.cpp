#include "kept_rows.h"

#include <algorithm>
#include <iterator>

namespace gpushim::analysis {

namespace {

constexpr const char* kKinds[] = {"launch", "copy", "memset", "graph",         "sync", "collective",
                                  "memory", "call", "range",  "process_range", "gap",  "mark"};
static_assert(std::size(kKinds) == static_cast<size_t>(ExportKind::kCount));

int64_t kept_number(const Query& row, int column) { return row.maybe(column).value_or(ExportRow::kNone); }

ExportKind kind_named(const std::string& name) {
    for (size_t i = 0; i < std::size(kKinds); ++i)
        if (name == kKinds[i]) return static_cast<ExportKind>(i);
    return ExportKind::mark;
}

Query of_rank(const Database& run, const char* sql, int64_t rank_id) {
    Query query = run.prepare(sql);
    query.bind(1, rank_id);
    return query;
}

}  // namespace

const char* export_kind_name(ExportKind kind) { return kKinds[static_cast<size_t>(kind)]; }

std::vector<KeptRank> kept_ranks(const Database& run) {
    std::vector<KeptRank> ranks;
    if (!run.has("kept_step")) return ranks;
    Query rows = run.prepare(
        "SELECT k.rank_id, r.rank, r.pid, s.number, k.why, k.left_out FROM kept_step k"
        " JOIN rank r ON r.rank_id = k.rank_id"
        " JOIN step s ON s.rank_id = k.rank_id AND s.step = k.step WHERE k.why NOT LIKE 'excerpt%'"
        " ORDER BY k.rank_id, k.why");
    while (rows.step()) {
        if (ranks.empty() || ranks.back().rank_id != rows.number(0))
            ranks.push_back({rows.number(0), rows.maybe(1), rows.number(2), ""});
        KeptRank& rank = ranks.back();
        rank.steps += (rank.steps.empty() ? "step " : " and step ") + std::to_string(rows.number(3)) + " (" +
                      rows.text(4) + ")";
        rank.left_out += rows.number(5);
    }
    return ranks;
}

ExportHead kept_head(const Database& run, int64_t rank_id) {
    ExportHead head;
    Query rank = of_rank(
        run, "SELECT pid, executable, host, file, rank, world_size FROM rank WHERE rank_id = ?1", rank_id);
    if (rank.step()) {
        head.pid = rank.number(0);
        head.executable = rank.text(1);
        head.host = rank.text(2);
        const std::string file = rank.text(3);
        head.file = file.substr(file.rfind('/') + 1);
        head.rank = rank.maybe(4);
        head.world_size = rank.maybe(5);
    }
    Query devices = of_rank(
        run, "SELECT device_id, uuid, name, memory_total_bytes FROM gpu WHERE rank_id = ?1 ORDER BY 1",
        rank_id);
    while (devices.step())
        head.devices.push_back({devices.number(0), devices.text(1), devices.text(2), devices.maybe(3)});
    Query tracks = of_rank(
        run, "SELECT kind, device_id, number, name FROM kept_track WHERE rank_id = ?1 ORDER BY 1, 2, 3",
        rank_id);
    while (tracks.step())
        (tracks.text(0) == "thread" ? head.threads : head.streams)
            .push_back({kept_number(tracks, 1), tracks.number(2), tracks.text(3)});
    Query steps = of_rank(run,
                          "SELECT s.number, s.begin_ns, s.begin_ns + s.dur_ns, k.real_minus_mono_ns,"
                          " EXISTS (SELECT 1 FROM kept_call c JOIN kept_text t ON t.rank_id = c.rank_id AND"
                          "  t.id = c.name_id WHERE c.rank_id = k.rank_id AND c.step = k.step AND"
                          "  c.kind IN ('range', 'process_range') AND t.text LIKE 'ProfilerStep#%')"
                          " FROM kept_step k JOIN step s ON s.rank_id = k.rank_id AND s.step = k.step"
                          " WHERE k.rank_id = ?1 ORDER BY s.begin_ns",
                          rank_id);
    head.first_ns = INT64_MAX;
    while (steps.step()) {
        head.first_ns = std::min(head.first_ns, steps.number(1));
        head.last_ns = std::max(head.last_ns, steps.number(2));
        head.real_minus_mono_ns = steps.number(3);
        if (steps.number(4) == 0) head.steps.push_back({steps.number(0), steps.number(1), steps.number(2)});
    }
    return head;
}

KeptRows::KeptRows(const Database& run, int64_t rank_id)
    : rows_(
          of_rank(run,
                  "SELECT c.kind, c.enter_ns, c.dur_ns, c.tid, c.flags, c.device_id, c.context_id, c.stream,"
                  " c.group_id, c.start_ns, c.ran_ns, c.error_ns, a.text, b.text, n0, n1, n2, n3, n4, n5, n6"
                  " FROM kept_call c JOIN step s ON s.rank_id = c.rank_id AND s.step = c.step"
                  " LEFT JOIN kept_text a ON a.rank_id = c.rank_id AND a.id = c.name_id"
                  " LEFT JOIN kept_text b ON b.rank_id = c.rank_id AND b.id = c.what_id"
                  " WHERE c.rank_id = ?1 AND c.before = 0 ORDER BY c.step, c.nth",
                  rank_id)) {}

bool KeptRows::next(ExportRow& row) {
    if (!rows_.step()) return false;
    row = {};
    row.kind = kind_named(rows_.text(0));
    row.enter_ns = rows_.number(1);
    row.dur_ns = kept_number(rows_, 2);
    row.tid = kept_number(rows_, 3);
    row.flags = rows_.number(4);
    row.device = kept_number(rows_, 5);
    row.context = kept_number(rows_, 6);
    row.stream = kept_number(rows_, 7);
    row.group = kept_number(rows_, 8);
    row.start_ns = kept_number(rows_, 9);
    row.ran_ns = kept_number(rows_, 10);
    row.error_ns = rows_.number(11);
    name_ = rows_.text(12);
    what_ = rows_.text(13);
    row.name = name_;
    row.what = what_;
    for (size_t i = 0; i < ExportRow::kNumbers; ++i)
        row.numbers[i] = kept_number(rows_, 14 + static_cast<int>(i));
    return true;
}

}  // namespace gpushim::analysis
