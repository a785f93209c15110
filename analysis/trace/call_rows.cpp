#include "call_rows.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "../../shim/schema/flags.h"
#include "host_inside.h"
#include "plausible.h"

namespace gpushim::analysis {

// The columns that all have come first; "": this table has none.
enum Column : size_t { kDur, kThread, kStream, kGroup, kFlags, kFirst, kSecond, kThird, kFourth };
constexpr const char* kNone = "";

struct CallTable {
    const char* name;
    CallKind kind;
    std::array<const char*, 9> columns;
    const FlagTest* wanted;  // of these rows; nullptr: the table has no flags
    bool has_times;          // and a table of device times beside it
    bool of_devices;
    bool (*tells)(CallKind kind);  // of devices: calls of that kind, by API; nullptr: all of them
    void (*fill)(const NumberRow& row, const TraceWords& words, Call& call);
};

namespace {

CallKind kind_of(const TraceWords& words, int64_t api_id) {
    return words.kind_of_api.get_or(api_id, CallKind::other);
}

void fill_launch(const NumberRow& row, const TraceWords&, Call& call) {
    call.type = row.is_null(kGroup) ? OperationClass::compute : OperationClass::comm;
    call.detail = row.number_or(kFirst, kNotRecorded);
}

void fill_copy(const NumberRow& row, const TraceWords&, Call& call) {
    constexpr OperationClass kCopies[] = {OperationClass::copy, OperationClass::h2d, OperationClass::d2h,
                                          OperationClass::d2d, OperationClass::p2p};
    constexpr int64_t kOnTheHost = 5, kPageable = 1;
    const int64_t direction = row.number(kThird), sides = row.number(kFourth);
    if (direction == kOnTheHost) call.kind = CallKind::other;
    call.type = direction >= 0 && direction < 5 ? kCopies[direction] : OperationClass::copy;
    call.api_id = row.number(kFirst);
    call.bytes = row.number_or(kSecond, kNotRecorded);
    call.detail = row.number_or(kFourth, kNotRecorded);
    call.blocking = (row.number(kFlags) & kRowBlocking) != 0;
    // Only from a device to the host do calls return when the bytes are there, and then always.
    call.completes = call.type == OperationClass::d2h && (call.blocking || sides >> 3 == kPageable);
}

void fill_memset(const NumberRow& row, const TraceWords&, Call& call) {
    call.type = OperationClass::memset;
    call.api_id = row.number(kFirst);
    call.bytes = row.number_or(kSecond, kNotRecorded);
    call.blocking = (row.number(kFlags) & kRowBlocking) != 0;
}

void fill_graph(const NumberRow& row, const TraceWords&, Call& call) {
    call.type = OperationClass::graph;
    call.api_id = row.number(kFirst);
    call.detail = row.number_or(kSecond, kNotRecorded);
}

void fill_sync(const NumberRow& row, const TraceWords& words, Call& call) {
    call.api_id = row.number(kFirst);
    call.kind = kind_of(words, call.api_id);
    call.target_id = row.number_or(kSecond, kNoTarget);
    const int64_t calls = row.number_or(kThird, 1);
    call.detail = is_plausible_count(calls) ? calls : 1;
}

// Looking a function up is quick, unless its code is loaded for that.
constexpr int64_t kLookUpNs = 20'000;

void fill_call(const NumberRow& row, const TraceWords& words, Call& call) {
    call.api_id = row.number(kFirst);
    call.kind = kind_of(words, call.api_id);
    if (call.kind == CallKind::other && call.exit_ns - call.enter_ns >= kLookUpNs &&
        words.lookups.contains(call.api_id))
        call.kind = CallKind::load;
    call.target_id = row.number_or(kSecond, kNoTarget);
}

void fill_memory(const NumberRow& row, const TraceWords&, Call& call) {
    call.api_id = row.number(kFirst);
    call.bytes = row.number_or(kSecond, kNotRecorded);
}

void fill_collective(const NumberRow& row, const TraceWords&, Call& call) {
    call.api_id = row.number(kFirst);
    call.target_id = row.number_or(kSecond, kNoTarget);
    call.bytes = row.number_or(kThird, kNotRecorded);
    call.detail = row.number_or(kFourth, kNotRecorded);
}

void fill_gap(const NumberRow& row, const TraceWords& words, Call& call) {
    call.detail = row.number_or(kFirst, kNotRecorded);
    call.runqueue_ns = row.number(kSecond);
    if (row.is_null(kThird)) return;
    const auto found = std::find(words.host_classes.begin(), words.host_classes.end(), row.text);
    if (found != words.host_classes.end())
        call.blocked_on = static_cast<int32_t>(found - words.host_classes.begin());
}

void fill_inside(const NumberRow& row, const TraceWords&, Call& call) {
    call.detail = row.number(kFirst);
    call.blocked_on = static_cast<int32_t>(std::clamp<int64_t>(row.number_or(kSecond, -1), -1, INT32_MAX));
}

void fill_sample(const NumberRow& row, const TraceWords&, Call& call) {
    call.detail = static_cast<int64_t>(HostInside::sampled);
    call.target_id = row.number(kFirst);
    call.blocked_on = static_cast<int32_t>(std::clamp<int64_t>(row.number_or(kSecond, -1), -1, 2));
}

bool is_wait(CallKind kind) { return kind == CallKind::sync; }
bool is_order(CallKind kind) {
    return kind == CallKind::record || kind == CallKind::wait || kind == CallKind::host_call;
}

#define HEAD "dur_ns", "thread_id", "stream_id", "group_id", "flags"
#define NO_GROUP "dur_ns", "thread_id", "stream_id", kNone, "flags"

constexpr CallTable kTables[] = {
    {"launch",
     CallKind::operation,
     {HEAD, "shape_id", kNone, kNone, kNone},
     &kRan,
     true,
     true,
     nullptr,
     fill_launch},
    {"copy",
     CallKind::operation,
     {HEAD, "api_id", "bytes", "direction", "sides"},
     &kRan,
     true,
     true,
     nullptr,
     fill_copy},
    {"memset",
     CallKind::operation,
     {HEAD, "api_id", "bytes", kNone, kNone},
     &kRan,
     true,
     true,
     nullptr,
     fill_memset},
    {"graph_launch",
     CallKind::operation,
     {NO_GROUP, "api_id", "graph_id", kNone, kNone},
     &kRan,
     true,
     true,
     nullptr,
     fill_graph},
    {"sync",
     CallKind::sync,
     {HEAD, "api_id", "target_id", "calls", kNone},
     &kRan,
     false,
     true,
     is_wait,
     fill_sync},
    {"call",
     CallKind::other,
     {HEAD, "api_id", "target_id", kNone, kNone},
     &kSucceeded,
     false,
     true,
     is_order,
     fill_call},
    {"memory",
     CallKind::memory,
     {"dur_ns", "thread_id", kNone, kNone, "flags", "api_id", "bytes", kNone, kNone},
     &kSucceeded,
     false,
     false,
     nullptr,
     fill_memory},
    {"collective",
     CallKind::collective,
     {HEAD, "api_id", "communicator_id", "bytes", "seq"},
     &kRan,
     false,
     false,
     nullptr,
     fill_collective},
    {"host_gap",
     CallKind::host_gap,
     {"dur_ns", "thread_id", kNone, kNone, kNone, "running_ns", "runqueue_ns", "class", kNone},
     nullptr,
     false,
     false,
     nullptr,
     fill_gap},
    {"host_span",
     CallKind::inside,
     {"dur_ns", "thread_id", kNone, kNone, kNone, "inside", "stage", kNone, kNone},
     nullptr,
     false,
     false,
     nullptr,
     fill_inside},
    {"python_sample",
     CallKind::inside,
     {kNone, "thread_id", kNone, kNone, kNone, "frame_id", "doing", kNone, kNone},
     nullptr,
     false,
     false,
     nullptr,
     fill_sample},
};

std::vector<std::string> columns_of(const CallTable& table) {
    return {table.columns.begin(), table.columns.end()};
}

// The driver, the runtime and HIP call the same things by the same names behind their own letters.
std::string_view without_prefix(std::string_view base) {
    for (const std::string_view prefix : {"cuda", "cu", "hip"})
        if (base.starts_with(prefix)) return base.substr(prefix.size());
    return {};
}
bool does_any(std::string_view base, std::initializer_list<std::string_view> begins) {
    const std::string_view does = without_prefix(base);
    return std::any_of(begins.begin(), begins.end(),
                       [&](std::string_view begin) { return does.starts_with(begin); });
}
bool loads_code(std::string_view base) { return does_any(base, {"ModuleLoad", "LibraryLoad", "Link"}); }
bool looks_up(std::string_view base) {
    return does_any(base, {"ModuleGetFunction", "LibraryGetKernel", "FuncLoad", "KernelGetFunction",
                           "FuncGetAttributes"});
}

// What goes on around an executable graph, but for launching it.
bool makes_graph(std::string_view base) {
    return does_any(base, {"GraphInstantiate", "GraphExec", "GraphUpload"});
}
bool begins_capture(std::string_view base) { return does_any(base, {"StreamBeginCapture"}); }
bool ends_capture(std::string_view base) { return does_any(base, {"StreamEndCapture"}); }

CallKind kind_of(const std::string& kind, const std::string& base) {
    if (kind == "sync") return CallKind::sync;
    if (kind == "record") return CallKind::record;
    if (kind == "wait") return CallKind::wait;
    if (kind == "host_call") return CallKind::host_call;
    if (kind == "memory") return CallKind::memory;
    if (begins_capture(base)) return CallKind::begin_capture;
    if (ends_capture(base)) return CallKind::end_capture;
    if (makes_graph(base)) return CallKind::make_graph;
    return loads_code(base) ? CallKind::load : CallKind::other;
}

}  // namespace

TraceWords words_of(const Database& base) {
    TraceWords words;
    Query streams = base.prepare("SELECT id FROM stream ORDER BY id");
    for (int32_t lane = 0; streams.step(); ++lane) words.lane_of_stream[streams.number(0)] = lane;
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
        words.errors[errors.number(0)] = {plausible_span(errors.number(1)),
                                          plausible_span(errors.number(2)),
                                          plausible_span(errors.number(3)),
                                          plausible_span(errors.number(4)),
                                          plausible_span(errors.number(5)),
                                          static_cast<int32_t>(errors.number(6)),
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

int64_t count_calls(const Database& base) {
    int64_t rows = 0;
    for (const CallTable* table : call_tables(base, CallsOf::host_too)) {
        Query count = base.prepare("SELECT count(*) FROM \"" + std::string(table->name) + "\"");
        if (count.step()) rows += count.number(0);
    }
    return rows;
}

CallRows::CallRows(const Database& base, const CallTable& table, const TraceWords& words, CallsOf which,
                   Interval entered)
    : table_(&table),
      words_(&words),
      only_devices_(which == CallsOf::devices),
      until_ns_(entered.end_ns),
      rows_(base, table.name, "enter_ns", columns_of(table), entered.start_ns) {
    if (table.has_times && which != CallsOf::host_times && !base.is_of_first_schema()) {
        times_.emplace(base, std::string(table.name) + "_device", "enter_ns",
                       std::vector<std::string>{"start_offset_ns", "dur_ns", "level_error_id"},
                       entered.start_ns);
        has_times_ = times_->next(times_row_);
    }
    step();
}

// One that can have been, and did what calls of its table do.
inline bool CallRows::is_call() const {
    const FlagTest* wanted = table_->wanted;
    if (wanted != nullptr && (row_.is_null(kFlags) || !(*wanted)(row_.number(kFlags)))) return false;
    return is_plausible_call(row_.number_or(kDur, 0));
}

void CallRows::step() {
    do has_row_ = rows_.next(row_) && row_.key < until_ns_;
    while (has_row_ && (!is_call() || (table_->tells != nullptr && !tells_what_is_asked())));
}

bool CallRows::tells_what_is_asked() const {
    if (row_.is_null(kFirst)) return false;
    const CallKind kind = kind_of(*words_, row_.number(kFirst));
    // An event that is recorded into a graph orders nothing, but was called.
    if (table_->tells(kind) && !kRan(row_.number(kFlags))) return false;
    return !only_devices_ || table_->tells(kind);
}

void CallRows::read(Call& call) {
    call = {};
    call.kind = table_->kind;
    call.enter_ns = plausible_time(row_.key);
    call.exit_ns = call.enter_ns + plausible_span(row_.number(kDur));
    call.thread_id = row_.number(kThread);
    call.lane =
        row_.is_null(kStream) ? kNoLane : words_->lane_of_stream.get_or(row_.number(kStream), kNoLane);
    call.target_id = kNoTarget;
    call.group_id = row_.number_or(kGroup, kNotRecorded);
    table_->fill(row_, *words_, call);
    if (call.kind != CallKind::memory && !is_plausible_size(call.bytes)) call.bytes = kNotRecorded;
    if (times_) read_times(call);
    step();
}

void CallRows::read_times(Call& call) {
    constexpr size_t kStartOffset = 0, kLasted = 1, kError = 2;
    while (has_times_ && times_row_.key < row_.key) has_times_ = times_->next(times_row_);
    if (!has_times_ || times_row_.key != row_.key) return;
    if (times_row_.is_null(kStartOffset) || times_row_.is_null(kLasted)) return;
    const TraceWords::Error* error = words_->errors.find(times_row_.number(kError));
    const int64_t dur_ns = plausible_span(times_row_.number(kLasted));
    if (error == nullptr || dur_ns < 0) return;
    const int64_t start_ns = call.enter_ns + plausible_span(times_row_.number(kStartOffset));
    const int64_t end_ns = start_ns + dur_ns;
    call.timed = true;
    call.times = {start_ns,
                  start_ns - error->start_low_ns,
                  start_ns + error->start_high_ns,
                  end_ns,
                  end_ns - error->end_low_ns,
                  end_ns + error->end_high_ns,
                  error->likely_ns,
                  error->events,
                  error->queued};
}

}  // namespace gpushim::analysis
