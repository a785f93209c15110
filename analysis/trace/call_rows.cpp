#include "call_rows.h"

#include <algorithm>
#include <array>
#include <string>

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

int64_t size_of(const NumberRow& row, size_t column) {
    const int64_t bytes = row.number_or(column, kNotRecorded);
    return is_plausible_size(bytes) ? bytes : kNotRecorded;
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
    call.bytes = size_of(row, kSecond);
    call.detail = row.number_or(kFourth, kNotRecorded);
    call.blocking = (row.number(kFlags) & kRowBlocking) != 0;
    // Only from a device to the host do calls return when the bytes are there, and then always.
    call.completes = call.type == OperationClass::d2h && (call.blocking || sides >> 3 == kPageable);
}

void fill_memset(const NumberRow& row, const TraceWords&, Call& call) {
    call.type = OperationClass::memset;
    call.api_id = row.number(kFirst);
    call.bytes = size_of(row, kSecond);
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
    // Below 0: freed.
    call.bytes = row.number_or(kSecond, kNotRecorded);
}

void fill_collective(const NumberRow& row, const TraceWords&, Call& call) {
    call.api_id = row.number(kFirst);
    call.target_id = row.number_or(kSecond, kNoTarget);
    call.bytes = size_of(row, kThird);
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

}  // namespace

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

// One that can have been, and did what calls of its table do.
inline bool CallRows::is_call() const {
    const NumberRow& row = rows_.row();
    const FlagTest* wanted = table_->wanted;
    if (wanted != nullptr && (row.is_null(kFlags) || !(*wanted)(row.number(kFlags)))) return false;
    return is_plausible_call(row.number(kDur));  // NULL: 0
}

bool CallRows::tells_what_is_asked() const {
    const NumberRow& row = rows_.row();
    if (row.is_null(kFirst)) return false;
    const CallKind kind = kind_of(*words_, row.number(kFirst));
    // An event that is recorded into a graph orders nothing, but was called.
    if (table_->tells(kind) && !kRan(row.number(kFlags))) return false;
    return !only_devices_ || table_->tells(kind);
}

inline bool CallRows::is_asked_for() const {
    return is_call() && (table_->tells == nullptr || tells_what_is_asked());
}

inline void CallRows::step() {
    has_row_ = rows_.next() && enter_ns() < until_ns_;
    if (has_row_ && !is_asked_for()) pass_others();
}

void CallRows::pass_others() {
    do has_row_ = rows_.next() && enter_ns() < until_ns_;
    while (has_row_ && !is_asked_for());
}

inline int32_t CallRows::lane_of(int64_t stream_id) {
    return stream_id == last_stream_id_ ? last_lane_ : find_lane(stream_id);
}

int32_t CallRows::find_lane(int64_t stream_id) {
    last_stream_id_ = stream_id;
    return last_lane_ = words_->lane_of_stream.get_or(stream_id, kNoLane);
}

inline const TraceWords::Error* CallRows::error_of(int64_t level_error_id) {
    const bool is_last = last_error_ != nullptr && level_error_id == last_error_id_;
    return is_last ? last_error_ : find_error(level_error_id);
}

const TraceWords::Error* CallRows::find_error(int64_t level_error_id) {
    last_error_id_ = level_error_id;
    return last_error_ = words_->errors.find(level_error_id);
}

inline void CallRows::read_times(Call& call) {
    constexpr size_t kStartOffset = 0, kLasted = 1, kError = 2;
    while (has_times_ && times_->row().key < enter_ns()) has_times_ = times_->next();
    if (!has_times_ || times_->row().key != enter_ns()) return;
    const NumberRow& row = times_->row();
    if (row.is_null(kStartOffset) || row.is_null(kLasted) || row.number(kLasted) < 0) return;
    const TraceWords::Error* error = error_of(row.number(kError));
    if (error == nullptr) return;
    const int64_t start_ns = call.enter_ns + plausible_span(row.number(kStartOffset));
    const int64_t end_ns = start_ns + plausible_span(row.number(kLasted));
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

CallRows::CallRows(const Database& base, const CallTable& table, const TraceWords& words, CallsOf which,
                   Interval entered)
    : table_(&table),
      words_(&words),
      only_devices_(which == CallsOf::devices),
      until_ns_(entered.end_ns),
      rows_(base, table.name, "enter_ns", columns_of(table), entered.start_ns),
      last_lane_(words.lane_of_stream.get_or(last_stream_id_, kNoLane)) {
    blank_.kind = table.kind;
    blank_.lane = kNoLane;
    blank_.target_id = kNoTarget;
    if (table.has_times && which != CallsOf::host_times && !base.is_of_first_schema()) {
        times_.emplace(base, std::string(table.name) + "_device", "enter_ns",
                       std::vector<std::string>{"start_offset_ns", "dur_ns", "level_error_id"},
                       entered.start_ns);
        has_times_ = times_->next();
    }
    step();
}

// All but its lane and when it ran, with no call on the way, so that nothing is saved.
void CallRows::read_row(Call& call) const {
    const NumberRow& row = rows_.row();
    call = blank_;
    call.enter_ns = plausible_time(row.key);
    call.exit_ns = call.enter_ns + row.number(kDur);  // which is_call has found plausible
    call.thread_id = row.number(kThread);
    call.group_id = row.number_or(kGroup, kNotRecorded);
    table_->fill(row, *words_, call);
}

void CallRows::read(Call& call) {
    read_row(call);
    if (!rows_.row().is_null(kStream)) call.lane = lane_of(rows_.row().number(kStream));
    if (times_) read_times(call);
    step();
}

}  // namespace gpushim::analysis
