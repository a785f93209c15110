#include "trace_tables.h"

#include <cstdio>
#include <set>

#include "api_kinds.h"
#include "collective_words.h"

namespace gpushim::analysis {

extern const char kTraceSchema[];  // shim/schema/*.sql, one after the other

namespace {

constexpr int64_t kNone = ImportedRow::kNone;
constexpr int64_t kBlocking = 32;  // of a copy's flags
constexpr std::string_view kNotRecorded = "(not recorded)";

int64_t known(int64_t value) { return value < 0 ? kNone : value; }

int64_t memory_kind(ApiTrait trait) {
    return trait == ApiTrait::pinned_memory ? 2 : trait == ApiTrait::managed_memory ? 3 : 4;
}

}  // namespace

TraceTables::TraceTables(const std::filesystem::path& place, const ImportedTrace& trace,
                         const ImportedNames& names)
    : trace_(trace), names_(names), rows_(place, kTraceSchema) {}

int64_t TraceTables::moved(Table table, int64_t enter_ns) {
    int64_t& last = last_[table];
    moved_ += enter_ns <= last;
    return last = std::max(enter_ns, last + 1);
}

void TraceTables::write(ImportedRow row) {
    row.enter_ns += trace_.base_ns;
    if (row.start_ns != kNone) row.start_ns += trace_.base_ns;
    first_ns_ = std::min({first_ns_, row.enter_ns, row.start_ns == kNone ? row.enter_ns : row.start_ns});
    last_ns_ = std::max(last_ns_, row.enter_ns);
    if (row.start_ns != kNone) last_ns_ = std::max(last_ns_, row.start_ns + row.ran_ns);
    const bool is_gap = row.what == ImportedWhat::gap;
    if (row.what == ImportedWhat::call || is_gap) last_ns_ = std::max(last_ns_, row.enter_ns + row.call_ns);
    for (const int64_t part : {row.enter_ns, row.start_ns, row.ran_ns, static_cast<int64_t>(row.what)})
        hash_ = (hash_ ^ static_cast<uint64_t>(part)) * 1099511628211u;
    counts_.rows += !is_gap;  // no call
    if (row.what == ImportedWhat::push || row.what == ImportedWhat::pop)
        write_range(row);
    else if (is_gap)
        write_gap(row);
    else if (row.what == ImportedWhat::call) {
        const std::string_view kind = kind_of_api(names_.apis.at(row.api)).kind;
        if (!write_untimed(row, kind)) write_call(row, kind);
    } else
        write_operation(row);
}

void TraceTables::write_range(const ImportedRow& row) {
    constexpr const char* kKinds[][2] = {{"push", "pop"}, {"range_start", "range_end"}, {"mark", "mark"}};
    const bool ends = row.what == ImportedWhat::pop;
    rows_.add("marker", {moved(kMarker, row.enter_ns), Cell(row.thread < 0 ? kNone : row.thread + 1),
                         kKinds[row.direction][ends], row.name + 1, kNone, kNone, kNone, kNone,
                         ends ? row.call_ns : kNone, 0});
}

void TraceTables::write_gap(const ImportedRow& row) {
    rows_.add("host_gap", {moved(kGap, row.enter_ns), row.call_ns, row.thread + 1, row.number, row.ran_ns,
                           row.name < 0 ? std::string_view() : std::string_view(names_.names.at(row.name)),
                           row.correlation});
}

// The event that a call is about, as a handle.
int64_t TraceTables::event(const ImportedRow& row, std::string_view kind) {
    const bool is_about_one = kind == "sync" || kind == "query" || kind == "record" || kind == "wait";
    if (!is_about_one || row.number == kNone) return kNone;
    const auto [found, is_new] = events_.try_emplace(row.number, 0);
    if (is_new) {
        found->second = ++handles_;
        rows_.add("handle", {found->second, "event", row.number, kNone, kNone, kNone, kNone, kNone});
    }
    return found->second;
}

void TraceTables::write_call(const ImportedRow& row, std::string_view kind) {
    const int64_t thread = row.thread < 0 ? kNone : row.thread + 1,
                  stream = row.stream < 0 ? kNone : row.stream + 1;
    const int64_t api = row.api + 1;
    if (kind == "sync" || kind == "query")
        rows_.add("sync", {moved(kSync, row.enter_ns), row.call_ns, thread, api, event(row, kind), stream, 1,
                           kNone, row.flags});
    else if (kind == "memory")
        rows_.add("memory", {moved(kMemory, row.enter_ns), row.call_ns, thread, api, kNone, row.number,
                             memory_kind(kind_of_api(names_.apis.at(row.api)).trait), kNone, kNone, kNone,
                             row.flags, kNone});
    else
        rows_.add("call", {moved(kCall, row.enter_ns), row.call_ns, thread, api, event(row, kind), stream,
                           kNone, row.flags});
}

// An operation of which only the call and its stream are told; false: it is none.
bool TraceTables::write_untimed(const ImportedRow& row, std::string_view kind) {
    if (row.stream < 0 || row.flags != 0) return false;
    const int64_t thread = row.thread < 0 ? kNone : row.thread + 1, stream = row.stream + 1;
    if (kind == "launch")
        rows_.add("launch",
                  {moved(kLaunch, row.enter_ns), row.call_ns, thread, stream, shape(row), kNone, 0});
    else if (kind == "copy")
        rows_.add("copy", {moved(kCopy, row.enter_ns), row.call_ns, thread, stream, row.api + 1, kNone, 0, 0,
                           kNone, flags_of(row)});
    else if (kind == "memset")
        rows_.add("memset", {moved(kMemset, row.enter_ns), row.call_ns, thread, stream, row.api + 1, kNone,
                             kNone, flags_of(row)});
    else if (kind == "graph_launch")
        rows_.add("graph_launch",
                  {moved(kGraph, row.enter_ns), row.call_ns, thread, stream, row.api + 1, kNone, 0});
    else
        return false;
    return true;
}

int64_t TraceTables::flags_of(const ImportedRow& row) const {
    const bool blocks = row.api >= 0 && kind_of_api(names_.apis.at(row.api)).trait == ApiTrait::blocking;
    return blocks ? kBlocking : 0;
}

void TraceTables::write_operation(const ImportedRow& row) {
    const int64_t thread = row.thread < 0 ? kNone : row.thread + 1;
    const int64_t stream = row.stream < 0 ? kNone : row.stream + 1, api = row.api < 0 ? kNone : row.api + 1;
    const int64_t flags = flags_of(row);
    const char* device_table = "launch_device";
    int64_t enter_ns = 0;
    if (row.what == ImportedWhat::kernel) {
        const int64_t group = row.collective < 0 ? kNone : ++groups_;
        enter_ns = moved(kLaunch, row.enter_ns);
        rows_.add("launch", {enter_ns, row.call_ns, thread, stream, shape(row), group, 0});
        if (group != kNone) write_collective(row, group);
    } else if (row.what == ImportedWhat::copy) {
        enter_ns = moved(kCopy, row.enter_ns);
        rows_.add("copy", {enter_ns, row.call_ns, thread, stream, api, row.number, row.direction, row.sides,
                           kNone, flags});
        device_table = "copy_device";
    } else if (row.what == ImportedWhat::graph) {
        enter_ns = moved(kGraph, row.enter_ns);
        rows_.add("graph_launch", {enter_ns, row.call_ns, thread, stream, api, kNone, 0});
        device_table = "graph_launch_device";
    } else {
        enter_ns = moved(kMemset, row.enter_ns);
        rows_.add("memset", {enter_ns, row.call_ns, thread, stream, api, row.number, kNone, flags});
        device_table = "memset_device";
    }
    rows_.add(device_table, {enter_ns, row.start_ns - enter_ns, row.ran_ns, 1});
    if (row.stream >= 0)
        if (const auto device = names_.streams.at(row.stream).device) ++operations_[*device];
}

// The profiler saw its kernel only: the call itself is where that was launched.
void TraceTables::write_collective(const ImportedRow& row, int64_t group) {
    const ImportedCollective& is = names_.collectives.at(row.collective);
    ++counts_.rows;
    rows_.add("collective",
              {moved(kCollective, row.enter_ns), row.call_ns, row.thread < 0 ? kNone : row.thread + 1,
               row.stream < 0 ? kNone : row.stream + 1, is.api + 1,
               is.communicator < 0 ? kNone : is.communicator + 1, instance(row), known(is.count),
               known(is.dtype), kNone, known(is.peer), known(is.bytes), group, 0});
}

int64_t TraceTables::instance(const ImportedRow& row) {
    const ImportedCollective& is = names_.collectives.at(row.collective);
    if (is.communicator < 0) return kNone;
    const bool is_between_two = is.sends >= 0 && is.peer >= 0;
    const int64_t next =
        counted_[{is.communicator, is_between_two ? is.peer : -1, is_between_two ? is.sends : -1}]++;
    return row.number != kNone ? row.number : next;
}

int64_t TraceTables::shape(const ImportedRow& row) {
    if (row.name < 0) return kNone;
    const auto [found, is_new] =
        shapes_.try_emplace({row.name, row.api}, static_cast<int64_t>(shapes_.size()) + 1);
    if (is_new) {
        const ImportedShape& is = names_.shapes.at(row.name);
        const int64_t api = (row.api < 0 ? names_.apis.count() : row.api) + 1;
        rows_.add("shape", {found->second, function(is.name), api, known(is.grid[0]), known(is.grid[1]),
                            known(is.grid[2]), known(is.block[0]), known(is.block[1]), known(is.block[2]),
                            known(is.shared_bytes), kNone, kNone, kNone, kNone});
    }
    return found->second;
}

int64_t TraceTables::function(int32_t name) {
    const auto [found, is_new] = functions_.try_emplace(name, 0);
    if (is_new) {
        found->second = ++handles_;
        rows_.add("handle", {found->second, "function", found->second, kNone, kNone, kNone, kNone, name + 1});
    }
    return found->second;
}

ImportedCounts TraceTables::finish(const ImportedCounts& counts) {
    counts_.operations = counts.operations;
    counts_.without_call = counts.without_call;
    counts_.calls_without_operation = counts.calls_without_operation;
    write_texts();
    write_contexts();
    write_communicators();
    write_devices();
    write_windows();
    write_trace();
    write_meta();
    rows_.finish();
    return counts_;
}

void TraceTables::write_texts() {
    for (int32_t i = 0; i < names_.names.count(); ++i)
        rows_.add("name", {i + 1, std::string_view(names_.names.at(i)), kNone});
    for (int32_t i = 0; i < names_.apis.count(); ++i) {
        const std::string_view name = names_.apis.at(i);
        const bool is_collective = name.starts_with("nccl") || name == "SendRecv";
        rows_.add("api", {i + 1, name, base_of_api(name),
                          is_collective ? std::string_view("collective") : kind_of_api(name).kind});
    }
    rows_.add("api", {names_.apis.count() + 1, kNotRecorded, kNotRecorded, "launch"});
    for (int32_t i = 0; i < names_.threads.count(); ++i) {
        const int64_t tid = names_.threads.at(i);
        const auto name = names_.thread_names.find(tid);
        rows_.add("thread",
                  {i + 1, tid, name == names_.thread_names.end() ? std::string_view() : name->second,
                   names_.thread_first_ns[static_cast<size_t>(i)] + trace_.base_ns});
    }
}

void TraceTables::write_contexts() {
    for (int32_t i = 0; i < names_.streams.count(); ++i) {
        const ImportedStream& is = names_.streams.at(i);
        const std::pair key(is.device.value_or(-1), is.context.value_or(-1));
        const auto [context, is_new] = contexts_.try_emplace(key, static_cast<int64_t>(contexts_.size()) + 1);
        if (is_new) {
            rows_.add("handle",
                      {++handles_, "context", is.context.value_or(0), kNone, kNone, kNone, is.device, kNone});
            rows_.add("context", {context->second, handles_, is.device});
        }
        rows_.add("handle", {++handles_, "stream", is.stream.value_or(0), kNone, kNone, kNone, kNone, kNone});
        rows_.add("stream", {i + 1, handles_, context->second, "made", kNone, kNone, kNone});
    }
}

int64_t TraceTables::rank_in(const ImportedCommunicator& communicator) const {
    if (!trace_.rank) return kNone;
    const auto members = ranks_in(communicator.members);
    for (size_t i = 0; i < members.size(); ++i)
        if (members[i] == *trace_.rank) return static_cast<int64_t>(i);
    const bool is_all = communicator.ranks > 0 && communicator.ranks == trace_.world_size.value_or(-1);
    return is_all ? *trace_.rank : kNone;
}

void TraceTables::write_communicators() {
    for (int32_t i = 0; i < names_.communicators.count(); ++i) {
        const ImportedCommunicator& is = names_.communicators.at(i);
        rows_.add("communicator",
                  {i + 1, std::string_view(is.uid), kNone, kNone, rank_in(is), known(is.ranks), kNone});
    }
}

// Everything a profiler saw has its times, so all of the trace is one window.
void TraceTables::write_devices() {
    for (const auto& [device, operations] : operations_) {
        const ImportedDevice* told = nullptr;
        for (const ImportedDevice& one : trace_.devices)
            if (one.id == device) told = &one;
        const auto text = [&](std::string ImportedDevice::*which) {
            return told == nullptr || (told->*which).empty() ? std::string_view()
                                                             : std::string_view(told->*which);
        };
        rows_.add("device", {device, text(&ImportedDevice::uuid), text(&ImportedDevice::name),
                             told == nullptr ? ImportedNumber() : told->memory_bytes, kNone});
        const int64_t dur_ns = last_ns_ - first_ns_;
        if (trace_.windows.empty())
            rows_.add("window", {first_ns_, device, dur_ns, kNone, dur_ns, operations, operations, 0, 0});
    }
}

// Two that are told as one and the same are one.
void TraceTables::write_windows() {
    std::set<std::pair<int64_t, int64_t>> told;
    for (const ImportedWindow& window : trace_.windows) {
        const int64_t enter_ns = window.start_ns + trace_.base_ns;
        if (operations_.contains(window.device) && told.insert({enter_ns, window.device}).second)
            rows_.add("window", {enter_ns, window.device, window.duration_ns, kNone, window.duration_ns,
                                 window.operations, window.timed, 0, 0});
    }
}

void TraceTables::write_trace() {
    // A time that was cut off is that much later; one that was rounded, half of that either way.
    const int64_t low = trace_.fraction_ns / 2, high = std::max<int64_t>(trace_.fraction_ns - 1, 0);
    rows_.add("level_error", {1, std::string_view(trace_.source), 1, low, high, low, high, low, 0});
    rows_.add("process", {trace_.pid.value_or(0), kNone, kNone,
                          trace_.executable.empty() ? std::string_view() : trace_.executable, trace_.rank,
                          kNone, trace_.world_size, "imported", kNone, kNone});
    if (counts_.rows == 0) first_ns_ = last_ns_ = trace_.base_ns;
    rows_.add("clock", {first_ns_, first_ns_, first_ns_});
    if (last_ns_ > first_ns_) rows_.add("clock", {last_ns_, last_ns_, last_ns_});
    rows_.add("ring_commit", {0, counts_.rows, kNone, 0, 0, last_ns_});
    if (trace_.damaged > 0) rows_.add("drop", {0, "damaged", last_ns_, static_cast<int64_t>(trace_.damaged)});
}

void TraceTables::write_meta() {
    const auto number = [this](const char* key, int64_t value) { rows_.add("meta", {key, value}); };
    const auto text = [this](const char* key, std::string_view value) {
        if (!value.empty()) rows_.add("meta", {key, value});
    };
    const std::string uuid = identity();
    text("uuid", uuid);
    text("host", trace_.host);
    text("source", trace_.source);
    text("imported_from", trace_.file);
    text("end_note", trace_.note);
    number("started_mono_ns", first_ns_);
    if (trace_.has_epoch) number("started_real_ns", first_ns_);
    number("moved_starts", moved_);
    number("names_left_out", names_.names.left_out() + names_.apis.left_out());
    number("shapes_left_out", names_.shapes.left_out());
    number("operations_without_call", counts_.without_call);
    number("calls_without_operation", counts_.calls_without_operation);
}

// The same for the same contents: a file that is given twice counts once.
std::string TraceTables::identity() const {
    uint64_t hash = hash_;
    const auto mix = [&hash](uint64_t value) { hash = (hash ^ value) * 1099511628211u; };
    mix(static_cast<uint64_t>(trace_.pid.value_or(-1)));
    mix(static_cast<uint64_t>(trace_.rank.value_or(-1)));
    for (const char c : trace_.host) mix(static_cast<unsigned char>(c));
    for (int32_t i = 0; i < names_.names.count(); ++i)
        for (const char c : names_.names.at(i)) mix(static_cast<unsigned char>(c));
    char text[40];
    std::snprintf(text, sizeof text, "%s-%016llx", trace_.source.c_str(),
                  static_cast<unsigned long long>(hash));
    return text;
}

}  // namespace gpushim::analysis
