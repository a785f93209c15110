#include "call_rows.h"

#include <algorithm>
#include <string_view>

namespace gpushim::analysis {

// Columns 0 to 4 are the same of all: enter, dur, thread, stream, group.
struct CallTable {
    const char* name;
    CallKind kind;
    const char* columns;  // from column 5 on
    const char* where;
    bool has_times;  // and a table of device times beside it
    bool of_devices;
    void (*fill)(const Query& row, const TraceWords& words, Call& call);
};

namespace {

CallKind kind_of(const TraceWords& words, int64_t api_id) {
    const auto found = words.kind_of_api.find(api_id);
    return found == words.kind_of_api.end() ? CallKind::other : found->second;
}

void fill_launch(const Query& row, const TraceWords&, Call& call) {
    call.type = row.is_null(4) ? OperationClass::compute : OperationClass::comm;
    call.detail = row.maybe(5).value_or(kNotRecorded);
}

void fill_copy(const Query& row, const TraceWords&, Call& call) {
    constexpr OperationClass kCopies[] = {OperationClass::copy, OperationClass::h2d, OperationClass::d2h,
                                          OperationClass::d2d, OperationClass::p2p};
    constexpr int64_t kOnTheHost = 5, kPageable = 1;
    const int64_t direction = row.number(7), sides = row.number(8);
    if (direction == kOnTheHost) call.kind = CallKind::other;
    call.type = direction >= 0 && direction < 5 ? kCopies[direction] : OperationClass::copy;
    call.api_id = row.number(5);
    call.bytes = row.maybe(6).value_or(kNotRecorded);
    call.detail = row.maybe(8).value_or(kNotRecorded);
    call.blocking = row.number(9) != 0;
    // Only from a device to the host do calls return when the bytes are there, and then always.
    call.completes = call.type == OperationClass::d2h && (call.blocking || sides >> 3 == kPageable);
}

void fill_memset(const Query& row, const TraceWords&, Call& call) {
    call.type = OperationClass::memset;
    call.api_id = row.number(5);
    call.bytes = row.maybe(6).value_or(kNotRecorded);
    call.blocking = row.number(7) != 0;
}

void fill_graph(const Query& row, const TraceWords&, Call& call) {
    call.type = OperationClass::graph;
    call.api_id = row.number(5);
    call.detail = row.maybe(6).value_or(kNotRecorded);
}

void fill_sync(const Query& row, const TraceWords& words, Call& call) {
    call.api_id = row.number(5);
    call.kind = kind_of(words, call.api_id);
    call.target_id = row.maybe(6).value_or(kNoTarget);
    call.detail = row.maybe(7).value_or(1);
}

// Looking a function up is quick, unless its code is loaded for that.
constexpr int64_t kLookUpNs = 20'000;

void fill_call(const Query& row, const TraceWords& words, Call& call) {
    call.api_id = row.number(5);
    call.kind = kind_of(words, call.api_id);
    if (call.kind == CallKind::other && call.exit_ns - call.enter_ns >= kLookUpNs &&
        words.lookups.contains(call.api_id))
        call.kind = CallKind::load;
    call.target_id = row.maybe(6).value_or(kNoTarget);
}

void fill_memory(const Query& row, const TraceWords&, Call& call) {
    call.api_id = row.number(5);
    call.bytes = row.maybe(6).value_or(kNotRecorded);
}

void fill_collective(const Query& row, const TraceWords&, Call& call) {
    call.api_id = row.number(5);
    call.target_id = row.maybe(6).value_or(kNoTarget);
    call.bytes = row.maybe(7).value_or(kNotRecorded);
    call.detail = row.maybe(8).value_or(kNotRecorded);
}

void fill_gap(const Query& row, const TraceWords& words, Call& call) {
    call.detail = row.maybe(5).value_or(kNotRecorded);
    call.runqueue_ns = row.number(6);
    if (row.is_null(7)) return;
    const auto found = std::find(words.host_classes.begin(), words.host_classes.end(), row.text(7));
    if (found != words.host_classes.end())
        call.blocked_on = static_cast<int32_t>(found - words.host_classes.begin());
}

#define WAITS "api_id IN (SELECT id FROM api WHERE kind = 'sync')"
#define ORDERS "api_id IN (SELECT id FROM api WHERE kind IN ('record', 'wait'))"
// What captured, failed and unfinished calls did is not in the order of a device.
#define RAN "flags & 7 = 0"

constexpr CallTable kTables[] = {
    {"launch", CallKind::operation, "group_id, shape_id", RAN, true, true, fill_launch},
    {"copy", CallKind::operation, "group_id, api_id, bytes, direction, sides, flags & 32", RAN, true, true,
     fill_copy},
    {"memset", CallKind::operation, "group_id, api_id, bytes, flags & 32", RAN, true, true, fill_memset},
    {"graph_launch", CallKind::operation, "NULL, api_id, graph_id", RAN, true, true, fill_graph},
    {"sync", CallKind::sync, "group_id, api_id, target_id, calls", RAN " AND " WAITS, false, true, fill_sync},
    {"call", CallKind::other, "group_id, api_id, target_id", RAN " AND " ORDERS, false, true, fill_call},
    {"sync", CallKind::sync, "group_id, api_id, target_id, calls", RAN " AND NOT " WAITS, false, false,
     fill_sync},
    {"call", CallKind::other, "group_id, api_id, target_id", "flags & 6 = 0 AND NOT " ORDERS, false, false,
     fill_call},
    {"memory", CallKind::memory, "NULL, api_id, bytes", "flags & 6 = 0", false, false, fill_memory},
    {"collective", CallKind::collective, "group_id, api_id, communicator_id, bytes, seq", RAN, false, false,
     fill_collective},
    {"host_gap", CallKind::host_gap, "NULL, running_ns, runqueue_ns, class", "1", false, false, fill_gap},
};

std::string sql_of(const CallTable& table, bool first_schema) {
    constexpr std::string_view kWithoutStream[] = {"memory", "host_gap"};
    const std::string name = table.name;
    const bool has_stream =
        std::find(std::begin(kWithoutStream), std::end(kWithoutStream), name) == std::end(kWithoutStream);
    // The first schema did not have runqueue_ns yet.
    const std::string columns =
        first_schema && name == "host_gap" ? "NULL, running_ns, NULL, class" : table.columns;
    return "SELECT enter_ns, dur_ns, thread_id, " + std::string(has_stream ? "stream_id" : "NULL") + ", " +
           columns + " FROM \"" + name + "\" WHERE " + table.where;
}

bool begins_with_any(std::string_view base, std::initializer_list<std::string_view> begins) {
    return std::any_of(begins.begin(), begins.end(),
                       [&](std::string_view begin) { return base.starts_with(begin); });
}
bool loads_code(std::string_view base) {
    return begins_with_any(base, {"cuModuleLoad", "cuLibraryLoad", "cuLink", "cudaLibraryLoad"});
}
bool looks_up(std::string_view base) {
    return begins_with_any(base, {"cuModuleGetFunction", "cuLibraryGetKernel", "cuFuncLoad",
                                  "cuKernelGetFunction", "cudaFuncGetAttributes"});
}

CallKind kind_of(const std::string& kind, const std::string& base) {
    if (kind == "sync") return CallKind::sync;
    if (kind == "record") return CallKind::record;
    if (kind == "wait") return CallKind::wait;
    if (kind == "memory") return CallKind::memory;
    return loads_code(base) ? CallKind::load : CallKind::other;
}

}  // namespace

TraceWords words_of(const Database& base) {
    TraceWords words;
    Query streams = base.prepare("SELECT id FROM stream ORDER BY id");
    while (streams.step()) {
        const auto lane = static_cast<int32_t>(words.lane_of_stream.size());
        words.lane_of_stream[streams.number(0)] = lane;
    }
    Query apis = base.prepare("SELECT id, kind, base FROM api");
    while (apis.step()) {
        words.kind_of_api[apis.number(0)] = kind_of(apis.text(1), apis.text(2));
        if (looks_up(apis.text(2))) words.lookups.insert(apis.number(0));
    }
    if (base.is_of_first_schema()) return words;
    Query errors = base.prepare(
        "SELECT id, start_low_ns, start_high_ns, end_low_ns, end_high_ns, likely_ns, events, queued"
        " FROM level_error");
    while (errors.step())
        words.errors[errors.number(0)] = {errors.number(1),     errors.number(2),
                                          errors.number(3),     errors.number(4),
                                          errors.number(5),     static_cast<int32_t>(errors.number(6)),
                                          errors.number(7) != 0};
    Query classes = base.prepare("SELECT DISTINCT class FROM host_gap WHERE class IS NOT NULL");
    while (classes.step()) words.host_classes.push_back(classes.text(0));
    return words;
}

std::vector<const CallTable*> call_tables(const Database& base, CallsOf which) {
    std::vector<const CallTable*> all;
    for (const CallTable& table : kTables)
        if ((table.of_devices || which != CallsOf::devices) && base.has(table.name)) all.push_back(&table);
    return all;
}

CallRows::CallRows(const Database& base, const CallTable& table, const TraceWords& words, CallsOf which,
                   Interval entered)
    : table_(&table),
      words_(&words),
      rows_(base.prepare(sql_of(table, base.is_of_first_schema()) +
                         " AND enter_ns < ?1 AND enter_ns >= ?2 ORDER BY enter_ns")) {
    rows_.bind(1, entered.end_ns);
    rows_.bind(2, entered.start_ns);
    if (table.has_times && which != CallsOf::host_times && !base.is_of_first_schema()) {
        times_.emplace(base.prepare("SELECT enter_ns, start_offset_ns, dur_ns, level_error_id FROM " +
                                    std::string(table.name) +
                                    "_device WHERE enter_ns >= ?1 ORDER BY enter_ns"));
        times_->bind(1, entered.start_ns);
        has_times_ = times_->step();
        if (has_times_) times_enter_ns_ = times_->number(0);
    }
    step();
}

void CallRows::step() {
    has_row_ = rows_.step();
    if (has_row_) enter_ns_ = rows_.number(0);
}

void CallRows::read(Call& call) {
    call = {};
    call.kind = table_->kind;
    call.enter_ns = enter_ns_;
    call.exit_ns = enter_ns_ + rows_.number(1);
    call.thread_id = rows_.number(2);
    const auto lane =
        rows_.is_null(3) ? words_->lane_of_stream.end() : words_->lane_of_stream.find(rows_.number(3));
    call.lane = lane == words_->lane_of_stream.end() ? kNoLane : lane->second;
    call.target_id = kNoTarget;
    call.group_id = rows_.maybe(4).value_or(kNotRecorded);
    table_->fill(rows_, *words_, call);
    if (times_) read_times(call);
    step();
}

void CallRows::read_times(Call& call) {
    while (has_times_ && times_enter_ns_ < call.enter_ns) {
        has_times_ = times_->step();
        if (has_times_) times_enter_ns_ = times_->number(0);
    }
    if (!has_times_ || times_enter_ns_ != call.enter_ns || times_->is_null(1) || times_->is_null(2)) return;
    const auto found = words_->errors.find(times_->number(3));
    const int64_t dur_ns = times_->number(2);
    if (found == words_->errors.end() || dur_ns < 0) return;
    const TraceWords::Error& error = found->second;
    const int64_t start_ns = call.enter_ns + times_->number(1), end_ns = start_ns + dur_ns;
    call.timed = true;
    call.times = {start_ns,
                  start_ns - error.start_low_ns,
                  start_ns + error.start_high_ns,
                  end_ns,
                  end_ns - error.end_low_ns,
                  end_ns + error.end_high_ns,
                  error.likely_ns,
                  error.events,
                  error.queued};
}

}  // namespace gpushim::analysis
