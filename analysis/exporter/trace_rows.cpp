#include "trace_rows.h"

#include <algorithm>

#include "../trace/event_tables.h"

namespace gpushim::analysis {

// Columns 0 to 5 are the same of all: enter, dur, thread, stream, API, flags; 6 is the group, 7 a text; then
// come the times on the device, and the numbers.
struct ExportSource {
    ExportKind kind;
    const char* table;
    const char *stream, *api, *flags, *group, *text;
    const char* numbers;
    size_t count;
    bool has_times;
};

namespace {

constexpr int kText = 7, kTimes = 8, kFirstNumber = 11;

#define EVENT_OF "(SELECT id FROM handle WHERE id = t.target_id AND kind = 'event')"

constexpr ExportSource kSources[] = {
    {ExportKind::launch, "launch", "t.stream_id", "NULL", "t.flags", "t.group_id", "NULL", "t.shape_id", 1,
     true},
    {ExportKind::copy, "copy", "t.stream_id", "t.api_id", "t.flags", "t.group_id", "NULL",
     "t.bytes, t.direction, t.sides", 3, true},
    {ExportKind::memset, "memset", "t.stream_id", "t.api_id", "t.flags", "t.group_id", "NULL", "t.bytes", 1,
     true},
    {ExportKind::graph, "graph_launch", "t.stream_id", "t.api_id", "t.flags", "NULL", "NULL", "t.graph_id", 1,
     true},
    {ExportKind::sync, "sync", "t.stream_id", "t.api_id", "t.flags", "t.group_id", "NULL",
     EVENT_OF ", t.calls", 2, false},
    {ExportKind::collective, "collective", "t.stream_id", "t.api_id", "t.flags", "t.group_id", "NULL",
     "t.bytes, t.count, t.dtype, t.peer, t.seq, t.communicator_id", 6, false},
    {ExportKind::memory, "memory", "NULL", "t.api_id", "t.flags", "NULL", "NULL",
     "t.bytes, t.kind, t.address, t.held_bytes, t.context_id", 5, false},
    {ExportKind::call, "call", "t.stream_id", "t.api_id", "t.flags", "t.group_id", "NULL", EVENT_OF, 1,
     false},
    {ExportKind::gap, "host_gap", "NULL", "NULL", "0", "NULL", "t.class",
     "t.running_ns, t.runqueue_ns, t.samples", 3, false},
    {ExportKind::mark, "marker", "NULL", "NULL", "t.flags", "NULL",
     "coalesce((SELECT text FROM name WHERE id = t.name_id), t.kind)", "t.value", 1, false},
};
constexpr ExportSource kRange = {ExportKind::range, "v_range", "", "", "", "", "", "", 1, false};

// Ranges begin where the row of their end says.
constexpr const char* kAllRanges =
    "SELECT start_ns, dur_ns, thread_id, NULL, NULL, 0, NULL, name, NULL, NULL, NULL, kind = 'process'"
    " FROM v_range WHERE start_ns >= ?1 AND start_ns < ?2 ORDER BY start_ns, dur_ns DESC";
constexpr const char* kRangesWithin =
    "SELECT m.enter_ns - m.dur_ns, m.dur_ns, m.thread_id, NULL, NULL, 0, NULL, n.text, NULL, NULL, NULL,"
    " m.kind = 'range_end' FROM marker m LEFT JOIN name n ON n.id = m.name_id"
    " WHERE m.enter_ns >= ?1 AND m.enter_ns <= ?2 AND m.kind IN ('pop', 'range_end')"
    " AND m.enter_ns - m.dur_ns >= ?1 ORDER BY 1, 2 DESC";

std::string sql_of(const ExportSource& source, bool first_schema) {
    std::string sql = "SELECT t.enter_ns, " +
                      std::string(source.table == std::string_view("marker") ? "NULL" : "t.dur_ns") +
                      ", t.thread_id";
    for (const char* column : {source.stream, source.api, source.flags, source.group, source.text})
        sql += std::string(", ") + column;
    const bool has_times = source.has_times && !first_schema;
    sql += has_times ? ", d.start_offset_ns, d.dur_ns, d.level_error_id, " : ", NULL, NULL, NULL, ";
    sql += source.numbers + std::string(" FROM \"") + source.table + "\" t";
    if (has_times) sql += " LEFT JOIN " + std::string(source.table) + "_device d ON d.enter_ns = t.enter_ns";
    sql += " WHERE t.enter_ns >= ?1 AND t.enter_ns < ?2";
    if (source.kind == ExportKind::mark)
        sql += " AND t.kind IN ('mark', 'profiler_start', 'profiler_stop', 'rest', 'resume')";
    return sql + " ORDER BY t.enter_ns";
}

template <class Map>
const typename Map::mapped_type* find(const Map& map, int64_t key) {
    const auto found = map.find(key);
    return found == map.end() ? nullptr : &found->second;
}

int64_t known(const Query& row, int column) { return row.maybe(column).value_or(kNoNumber); }

// A profiler's small numbers are kept; the driver's values and the default streams' have none.
bool are_small(const Database& base) {
    constexpr int64_t kSmall = 1 << 20;
    Query most =
        base.prepare("SELECT count(*) = count(h.handle) AND max(h.handle) < " + std::to_string(kSmall) +
                     " AND min(h.handle) >= 0 FROM stream s LEFT JOIN handle h ON h.id = s.handle_id");
    return most.step() && most.number(0) != 0;
}

ExportWords words_of_export(const Database& base) {
    ExportWords words;
    Query threads = base.prepare("SELECT id, tid FROM thread");
    while (threads.step()) words.tids[threads.number(0)] = threads.number(1);
    Query contexts = base.prepare("SELECT id, device_id FROM context");
    while (contexts.step()) words.device_of_context[contexts.number(0)] = known(contexts, 1);
    const bool small = are_small(base);
    Query streams = base.prepare(
        "SELECT s.id, c.device_id, s.context_id, h.handle FROM stream s LEFT JOIN context c ON c.id ="
        " s.context_id LEFT JOIN handle h ON h.id = s.handle_id");
    while (streams.step())
        words.streams[streams.number(0)] = {known(streams, 1), known(streams, 2),
                                            streams.number(small ? 3 : 0)};
    Query apis = base.prepare("SELECT id, name FROM api");
    while (apis.step()) words.apis[apis.number(0)] = apis.text(1);
    Query shapes = base.prepare(
        "SELECT id, kernel, api, shared_bytes, grid_x, grid_y, grid_z, block_x, block_y, block_z"
        " FROM v_shape");
    while (shapes.step()) {
        ExportWords::Shape& shape = words.shapes[shapes.number(0)];
        shape = {shapes.text(1), shapes.text(2), {}};
        for (size_t i = 0; i < ExportRow::kNumbers; ++i)
            shape.numbers[i] = known(shapes, static_cast<int>(i) + 3);
    }
    Query communicators = base.prepare("SELECT id, uid, rank, ranks FROM communicator");
    while (communicators.step())
        words.communicators[communicators.number(0)] = {communicators.text(1), known(communicators, 2),
                                                        known(communicators, 3)};
    if (base.is_of_first_schema()) return words;
    Query graphs = base.prepare("SELECT id, kernels FROM graph");
    while (graphs.step()) words.kernels_of_graph[graphs.number(0)] = known(graphs, 1);
    Query errors = base.prepare("SELECT id, CASE queued WHEN 1 THEN 0 ELSE likely_ns END FROM level_error");
    while (errors.step()) words.errors[errors.number(0)] = {errors.number(1)};
    return words;
}

void name_launch(const ExportWords& words, ExportRow& row) {
    const auto* shape = find(words.shapes, row.numbers[0]);
    row.numbers = ExportRow::none();
    if (shape == nullptr) return;
    row.what = shape->kernel;
    row.name = shape->api;
    row.numbers = shape->numbers;
}

void name_collective(const ExportWords& words, ExportRow& row) {
    const auto* communicator = find(words.communicators, row.numbers[5]);
    row.numbers[5] = communicator == nullptr ? kNoNumber : communicator->ranks;
    row.numbers[6] = communicator == nullptr ? kNoNumber : communicator->rank;
    if (communicator != nullptr) row.what = communicator->uid;
}

void name_memory(const ExportWords& words, ExportRow& row) {
    const auto* device = find(words.device_of_context, row.numbers[4]);
    row.context = row.numbers[4];
    row.device = device == nullptr ? kNoNumber : *device;
    row.numbers[4] = kNoNumber;
}

void name_graph(const ExportWords& words, ExportRow& row) {
    const auto* kernels = find(words.kernels_of_graph, row.numbers[0]);
    row.numbers[1] = kernels == nullptr ? kNoNumber : *kernels;
}

}  // namespace

std::shared_ptr<const ExportWords> export_words(const Trace& trace) {
    return std::make_shared<const ExportWords>(words_of_export(trace.base));
}

TraceRows::TraceRows(const Trace& trace, std::shared_ptr<const ExportWords> words, int64_t from_ns,
                     int64_t until_ns)
    : words_(std::move(words)) {
    open(trace, from_ns, std::min(until_ns, trace.until_ns), false);
}

TraceRows::TraceRows(const Trace& trace) : words_(export_words(trace)) {
    open(trace, INT64_MIN, trace.until_ns, true);
}

void TraceRows::open(const Trace& trace, int64_t from_ns, int64_t until_ns, bool all) {
    const bool first_schema = trace.base.is_of_first_schema();
    const auto add = [&](const ExportSource& source, const std::string& sql) {
        cursors_.push_back({&source, trace.base.prepare(sql)});
        cursors_.back().rows.bind(1, from_ns);
        cursors_.back().rows.bind(2, until_ns);
    };
    for (const ExportSource& source : kSources)
        // The first schema had other columns there, and no rows.
        if (!first_schema || (source.kind != ExportKind::gap && source.kind != ExportKind::mark))
            add(source, sql_of(source, first_schema));
    if (!first_schema) add(kRange, all ? kAllRanges : kRangesWithin);
    for (Cursor& cursor : cursors_) step(cursor);
}

void TraceRows::step(Cursor& cursor) const {
    const Query& rows = cursor.rows;
    const ExportSource& source = *cursor.source;
    cursor.has_row = cursor.rows.step();
    if (!cursor.has_row) return;
    ExportRow& row = cursor.row = {};
    row.kind = source.kind;
    row.enter_ns = rows.number(0);
    row.dur_ns = known(rows, 1);
    if (const auto* tid = find(words_->tids, rows.number(2))) row.tid = *tid;
    if (const auto* stream = rows.is_null(3) ? nullptr : find(words_->streams, rows.number(3))) {
        row.device = stream->device;
        row.context = stream->context;
        row.stream = stream->number;
    }
    if (const auto* api = rows.is_null(4) ? nullptr : find(words_->apis, rows.number(4))) row.name = *api;
    row.flags = rows.number(5);
    row.group = known(rows, 6);
    if (!rows.is_null(kTimes) && !rows.is_null(kTimes + 1)) {
        row.start_ns = row.enter_ns + rows.number(kTimes);
        row.ran_ns = rows.number(kTimes + 1);
        if (const auto* error = find(words_->errors, rows.number(kTimes + 2)))
            row.error_ns = error->likely_ns;
    }
    for (size_t i = 0; i < source.count; ++i)
        row.numbers[i] = known(rows, kFirstNumber + static_cast<int>(i));
    if (!rows.is_null(kText)) {
        cursor.text = rows.text(kText);
        (source.kind == ExportKind::gap ? row.what : row.name) = cursor.text;
    }
    if (source.kind == ExportKind::launch) name_launch(*words_, row);
    if (source.kind == ExportKind::collective) name_collective(*words_, row);
    if (source.kind == ExportKind::memory) name_memory(*words_, row);
    if (source.kind == ExportKind::graph) name_graph(*words_, row);
    if (source.kind == ExportKind::range && row.numbers[0] == 1) row.kind = ExportKind::process_range;
}

bool TraceRows::next(ExportRow& row) {
    if (given_ != nullptr) step(*given_);
    given_ = nullptr;
    for (Cursor& cursor : cursors_) {
        if (!cursor.has_row) continue;
        const bool is_first =
            given_ == nullptr || cursor.row.enter_ns < given_->row.enter_ns ||
            (cursor.row.enter_ns == given_->row.enter_ns && cursor.row.dur_ns > given_->row.dur_ns);
        if (is_first) given_ = &cursor;
    }
    if (given_ == nullptr) return false;
    row = given_->row;
    return true;
}

int64_t count_rows(const Database& base) {
    int64_t rows = 0;
    for (const ExportSource& source : kSources) {
        if (!base.has(source.table)) continue;
        Query count = base.prepare(std::string("SELECT count(*) FROM \"") + source.table + "\"");
        if (count.step()) rows += count.number(0);
    }
    return rows;
}

ExportHead export_head(const Trace& trace) {
    ExportHead head;
    const Database& base = trace.base;
    head.pid = trace.pid;
    head.executable = trace.executable;
    head.host = trace.host;
    head.file = trace.path.filename().string();
    head.rank = trace.rank;
    head.world_size = trace.world_size;
    Query offset = base.prepare("SELECT real_minus_mono_ns FROM v_offset");
    if (offset.step()) head.real_minus_mono_ns = offset.number(0);
    Query devices = base.prepare("SELECT id, uuid, name, memory_bytes FROM device ORDER BY id");
    while (devices.step())
        head.devices.push_back({devices.number(0), devices.text(1), devices.text(2), devices.maybe(3)});
    Query threads = base.prepare("SELECT tid, max(name) FROM thread GROUP BY tid ORDER BY min(id)");
    while (threads.step()) head.threads.push_back({kNoNumber, threads.number(0), threads.text(1)});
    const ExportWords words = words_of_export(base);
    Query streams = base.prepare("SELECT id, stream FROM v_stream ORDER BY id");
    while (streams.step()) {
        const ExportWords::Stream& is = words.streams.at(streams.number(0));
        head.streams.push_back({is.device, is.number, streams.text(1)});
    }
    head.first_ns = INT64_MAX;
    head.last_ns = INT64_MIN;
    for (const EventTable& table : event_tables_of(base)) {
        const std::string name = table.name;
        Query ends = base.prepare("SELECT (SELECT min(enter_ns) FROM " + name +
                                  "), (SELECT max(enter_ns) FROM " + name + ")");
        if (!ends.step() || ends.is_null(0)) continue;
        head.first_ns = std::min(head.first_ns, ends.number(0));
        head.last_ns = std::max(head.last_ns, ends.number(1));
    }
    if (head.last_ns < head.first_ns) head.first_ns = head.last_ns = 0;
    return head;
}

}  // namespace gpushim::analysis
