#include "trace_rows.h"

#include <algorithm>
#include <iterator>

#include "../trace/event_tables.h"

namespace gpushim::analysis {

// The columns that all have come first, as far as a table has them; then come the numbers, and a text.
struct ExportSource {
    ExportKind kind;
    const char* table;
    std::vector<std::string> numbers;
    bool has_times;  // and a table of device times beside it
};

namespace {

enum Column : size_t { kDur, kThread, kStream, kApi, kFlags, kGroup, kFirstNumber };
enum TimesColumn : size_t { kStartOffset, kLasted, kError };
constexpr size_t kClass = 3;  // of the numbers of a gap: a text

// Those of which there are many.
const ExportSource kSources[] = {
    {ExportKind::launch, "launch", {"shape_id"}, true},
    {ExportKind::copy, "copy", {"bytes", "direction", "sides"}, true},
    {ExportKind::memset, "memset", {"bytes"}, true},
    {ExportKind::graph, "graph_launch", {"graph_id"}, true},
    {ExportKind::sync, "sync", {"target_id", "calls"}, false},
    {ExportKind::collective,
     "collective",
     {"bytes", "count", "dtype", "peer", "seq", "communicator_id"},
     false},
    {ExportKind::memory, "memory", {"bytes", "kind", "address", "held_bytes", "context_id"}, false},
    {ExportKind::call, "call", {"target_id"}, false},
    {ExportKind::gap, "host_gap", {"running_ns", "runqueue_ns", "samples", "class"}, false},
};
const ExportSource kMark = {ExportKind::mark, "marker", {}, false};
const ExportSource kRange = {ExportKind::range, "v_range", {}, false};

// Of marks and ranges: when, how long, thread, flags, text, number.
constexpr const char* kMarks =
    "SELECT enter_ns, NULL, thread_id, flags,"
    " coalesce((SELECT text FROM name WHERE id = t.name_id), t.kind), value"
    " FROM marker t WHERE enter_ns >= ?1 AND enter_ns < ?2"
    " AND kind IN ('mark', 'profiler_start', 'profiler_stop', 'rest', 'resume') ORDER BY enter_ns";
// Ranges begin where the row of their end says.
constexpr const char* kAllRanges =
    "SELECT start_ns, dur_ns, thread_id, 0, name, kind = 'process'"
    " FROM v_range WHERE start_ns >= ?1 AND start_ns < ?2 ORDER BY start_ns, dur_ns DESC";
constexpr const char* kRangesWithin =
    "SELECT m.enter_ns - m.dur_ns, m.dur_ns, m.thread_id, 0, n.text, m.kind = 'range_end' FROM marker m LEFT "
    "JOIN name n ON n.id = m.name_id"
    " WHERE m.enter_ns >= ?1 AND m.enter_ns <= ?2 AND m.kind IN ('pop', 'range_end')"
    " AND m.enter_ns - m.dur_ns >= ?1 ORDER BY 1, 2 DESC";

// The event that a call is about: no more is told of what else it may be about.
constexpr const char* kIsEvent = "SELECT 1 FROM handle WHERE id = ?1 AND kind = 'event'";

template <class Map>
const typename Map::mapped_type* find(const Map& map, int64_t key) {
    const auto found = map.find(key);
    return found == map.end() ? nullptr : &found->second;
}

int64_t known(const Query& row, int column) { return row.maybe(column).value_or(kNoNumber); }
int64_t known(const NumberRow& row, size_t column) { return row.number_or(column, kNoNumber); }

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

TraceRows::Cursor::Cursor(const Database& base, const ExportSource& of, int64_t from_ns) : source(&of) {
    std::vector<std::string> columns = {"dur_ns", "thread_id", "stream_id", "api_id", "flags", "group_id"};
    columns.insert(columns.end(), of.numbers.begin(), of.numbers.end());
    rows.emplace(base, of.table, "enter_ns", columns, from_ns);
    if (!of.has_times || base.is_of_first_schema()) return;
    times.emplace(base, std::string(of.table) + "_device", "enter_ns",
                  std::vector<std::string>{"start_offset_ns", "dur_ns", "level_error_id"}, from_ns);
    has_times = times->next(times_at);
}

TraceRows::Cursor::Cursor(const Database& base, const ExportSource& of, const char* sql) : source(&of) {
    query.emplace(base.prepare(sql));
}

TraceRows::TraceRows(const Trace& trace, std::shared_ptr<const ExportWords> words, int64_t from_ns,
                     int64_t until_ns)
    : words_(std::move(words)), is_event_(trace.base.prepare(kIsEvent)) {
    open(trace, from_ns, std::min(until_ns, trace.until_ns), kRangesWithin);
}

TraceRows::TraceRows(const Trace& trace)
    : words_(export_words(trace)), is_event_(trace.base.prepare(kIsEvent)) {
    open(trace, INT64_MIN, trace.until_ns, kAllRanges);
}

void TraceRows::open(const Trace& trace, int64_t from_ns, int64_t until_ns, const char* ranges) {
    const bool first_schema = trace.base.is_of_first_schema();
    until_ns_ = until_ns;
    cursors_.reserve(std::size(kSources) + 2);
    for (const ExportSource& source : kSources)
        // The first schema had other columns there, and no rows.
        if (!first_schema || source.kind != ExportKind::gap)
            cursors_.emplace_back(trace.base, source, from_ns);
    if (!first_schema) {
        cursors_.emplace_back(trace.base, kMark, kMarks);
        cursors_.emplace_back(trace.base, kRange, ranges);
    }
    for (Cursor& cursor : cursors_) {
        if (cursor.query) {
            cursor.query->bind(1, from_ns);
            cursor.query->bind(2, until_ns);
        }
        step(cursor);
    }
}

void TraceRows::step(Cursor& cursor) {
    cursor.row = {};
    cursor.row.kind = cursor.source->kind;
    cursor.has_row = cursor.query ? step_query(cursor) : step_numbers(cursor);
}

int64_t TraceRows::tid_of(int64_t thread_id) const {
    const auto* tid = find(words_->tids, thread_id);
    return tid == nullptr ? kNoNumber : *tid;
}

bool TraceRows::step_query(Cursor& cursor) const {
    Query& rows = *cursor.query;
    if (!rows.step()) return false;
    ExportRow& row = cursor.row;
    row.enter_ns = rows.number(0);
    row.dur_ns = known(rows, 1);
    row.tid = tid_of(rows.number(2));
    row.flags = rows.number(3);
    cursor.text = rows.text(4);
    if (!rows.is_null(4)) row.name = cursor.text;
    row.numbers[0] = known(rows, 5);
    if (row.kind == ExportKind::range && row.numbers[0] == 1) row.kind = ExportKind::process_range;
    return true;
}

bool TraceRows::step_numbers(Cursor& cursor) {
    const NumberRow& at = cursor.at;
    if (!cursor.rows->next(cursor.at) || at.key >= until_ns_) return false;
    ExportRow& row = cursor.row;
    row.enter_ns = at.key;
    row.dur_ns = known(at, kDur);
    row.tid = tid_of(at.number(kThread));
    if (const auto* stream = at.is_null(kStream) ? nullptr : find(words_->streams, at.number(kStream))) {
        row.device = stream->device;
        row.context = stream->context;
        row.stream = stream->number;
    }
    if (const auto* api = at.is_null(kApi) ? nullptr : find(words_->apis, at.number(kApi))) row.name = *api;
    row.flags = at.number(kFlags);
    row.group = known(at, kGroup);
    if (cursor.times) read_times(cursor);
    for (size_t i = 0; i < cursor.source->numbers.size() && i < row.numbers.size(); ++i)
        row.numbers[i] = known(at, kFirstNumber + i);
    tell(cursor);
    return true;
}

void TraceRows::read_times(Cursor& cursor) const {
    const NumberRow& at = cursor.times_at;
    ExportRow& row = cursor.row;
    while (cursor.has_times && at.key < row.enter_ns) cursor.has_times = cursor.times->next(cursor.times_at);
    if (!cursor.has_times || at.key != row.enter_ns) return;
    if (at.is_null(kStartOffset) || at.is_null(kLasted)) return;
    row.start_ns = row.enter_ns + at.number(kStartOffset);
    row.ran_ns = at.number(kLasted);
    if (const auto* error = find(words_->errors, at.number(kError))) row.error_ns = error->likely_ns;
}

// What its numbers mean, by kind.
void TraceRows::tell(Cursor& cursor) {
    ExportRow& row = cursor.row;
    switch (row.kind) {
        case ExportKind::launch:
            return name_launch(*words_, row);
        case ExportKind::collective:
            return name_collective(*words_, row);
        case ExportKind::memory:
            return name_memory(*words_, row);
        case ExportKind::graph:
            return name_graph(*words_, row);
        case ExportKind::sync:
        case ExportKind::call:
            if (!is_event(row.numbers[0])) row.numbers[0] = kNoNumber;
            return;
        case ExportKind::gap:
            row.numbers[kClass] = kNoNumber;
            cursor.text = cursor.at.text;
            if (!cursor.at.is_null(kFirstNumber + kClass)) row.what = cursor.text;
            return;
        default:
            return;
    }
}

bool TraceRows::is_event(int64_t handle_id) {
    if (handle_id == kNoNumber) return false;
    is_event_.bind(1, handle_id);
    const bool is = is_event_.step();
    is_event_.reset();
    return is;
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
    const auto count = [&](const char* table) {
        if (!base.has(table)) return;
        Query count_of = base.prepare(std::string("SELECT count(*) FROM \"") + table + "\"");
        if (count_of.step()) rows += count_of.number(0);
    };
    for (const ExportSource& source : kSources) count(source.table);
    count(kMark.table);
    return rows;
}

ExportHead export_head(const Trace& trace, const ExportWords& words) {
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
