#include "nsys_trace.h"

#include <algorithm>
#include <map>
#include <memory>

#include "../../failure.h"
#include "../../sqlite/database.h"
#include "../../terminal/progress.h"
#include "../../trace/work_bound.h"
#include "../api_kinds.h"
#include "../host_words.h"
#include "../trace_rank.h"
#include "nsys_host.h"
#include "nsys_lacks.h"
#include "nsys_machine.h"
#include "nsys_operators.h"
#include "nsys_table.h"

namespace gpushim::analysis {

namespace {

constexpr int64_t kNotValid = 0xffffffff;                     // a stream or device that does not apply
constexpr int64_t kPushPop = 59, kStartEnd = 60, kMark = 34;  // of eventType
constexpr size_t kSortedBytes = 32 << 20;
constexpr size_t kMostProcesses = 128;  // each has files of its own open

ImportedNumber valid(ImportedNumber number) { return number == kNotValid ? ImportedNumber() : number; }

// Numbers of CUPTI's copy kinds, from its 1 on, as our directions.
uint8_t direction(ImportedNumber kind) {
    constexpr uint8_t kDirections[] = {0, 1, 2, 1, 2, 3, 3, 3, 3, 5, 4, 1, 2, 3};
    return kind && *kind > 0 && *kind < static_cast<int64_t>(std::size(kDirections)) ? kDirections[*kind] : 0;
}
// Pages of managed memory on their way: because something touched them, or, by their cause, because the
// program asked for it.
bool is_migration(ImportedNumber kind) { return kind && *kind >= 11 && *kind <= 13; }
constexpr int64_t kAskedFor = 1;
constexpr uint8_t kManaged = 3, kNotTold = 0;  // as our traces have it
// Numbers of nsys's memory kinds as ours: pageable, pinned, device, array, managed, device static, managed
// static.
uint8_t memory(ImportedNumber kind) {
    constexpr uint8_t kMemories[] = {1, 2, 4, 5, 3, 4, 3};
    return kind && *kind >= 0 && *kind < static_cast<int64_t>(std::size(kMemories)) ? kMemories[*kind] : 0;
}

class NsysImport {
  public:
    NsysImport(const std::string& file, std::filesystem::path place, bool numbers_count)
        : file_(file), place_(std::move(place)), numbers_count_(numbers_count), base_(file) {
        bound_work(base_);
    }

    ImportedFile run() {
        expect_rows();
        find_processes();
        if (places_.empty())
            throw Failure(file_ +
                          ": not a SQLite export of Nsight Systems with CUDA calls; make one with `nsys "
                          "export --type sqlite` from a report with `--trace=cuda`" +
                          nsys_warning(base_));
        read_calls("CUPTI_ACTIVITY_KIND_RUNTIME");
        read_calls("CUPTI_ACTIVITY_KIND_DRIVER");
        read_waits();
        read_allocations();
        read_kernels();
        read_copies();
        read_sets_and_graphs();
        read_ranges();
        read_host();
        read_thread_names();
        return finish();
    }

  private:
    void expect_rows() const;
    void find_processes();
    void read_calls(std::string_view table);
    void read_waits();
    void read_allocations();
    template <typename Complete>
    void take_work(ImportedWork::What what, const NsysTable& rows, Complete complete);
    void read_kernels();
    void read_copies();
    void read_sets_and_graphs();
    void find_operators();
    void take_operator(TraceWriter& to, const NsysOperator& is, const NsysTable& rows);
    void say_untold();
    void read_ranges();
    void read_host();
    void read_thread_names();
    ImportedFile finish();
    ImportedTrace described(int64_t process) const;
    std::string only_text(std::string_view table, std::string_view column, std::string_view key) const;

    TraceWriter* writer(int64_t process) {
        const auto found = writers_.find(process);
        return found == writers_.end() ? nullptr : found->second.get();
    }

    std::string file_;
    std::filesystem::path place_;
    bool numbers_count_;
    Database base_;
    std::map<int64_t, std::filesystem::path> places_;  // by process
    std::map<int64_t, std::unique_ptr<TraceWriter>> writers_;
    std::map<int64_t, uint64_t> damaged_;  // operations that could not be read, by process
    SpanOfThread calls_, operators_;       // of CUDA; of PyTorch
};

// Of the long tables, each as often as it is read.
void NsysImport::expect_rows() const {
    constexpr std::pair<const char*, int64_t> kReads[] = {{"CUPTI_ACTIVITY_KIND_RUNTIME", 2},
                                                          {"CUPTI_ACTIVITY_KIND_DRIVER", 1},
                                                          {"CUPTI_ACTIVITY_KIND_KERNEL", 2},
                                                          {"CUPTI_ACTIVITY_KIND_MEMCPY", 2},
                                                          {"CUPTI_ACTIVITY_KIND_MEMSET", 2},
                                                          {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", 1},
                                                          {"NVTX_EVENTS", 2}};
    if (!Progress::is_shown()) return;
    for (const auto& [table, times] : kReads) {
        if (!base_.has(table)) continue;
        Query count = base_.prepare("SELECT count(*) FROM \"" + std::string(table) + "\"");
        if (count.step()) Progress::expect(times * count.number(0));
    }
}

void NsysImport::find_processes() {
    for (const char* table : {"CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL",
                              "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"}) {
        NsysTable rows(base_, table, {"globalPid|globalTid"});
        while (rows.step()) places_[process_of(rows.maybe(0))];
    }
    if (places_.size() > kMostProcesses)
        throw Failure(file_ + ": of " + std::to_string(places_.size()) + " processes, which no host has");
    for (auto& [process, place] : places_) {
        place = place_;
        if (process != places_.begin()->first)
            place.replace_extension(std::to_string(process) + place_.extension().string());
        writers_[process] = std::make_unique<TraceWriter>(place, kSortedBytes / places_.size());
    }
}

void NsysImport::read_calls(std::string_view table) {
    NsysTable rows(base_, table, {"start", "end", "globalTid", "correlationId", "#nameId", "returnValue"});
    while (rows.step()) {
        TraceWriter* to = writer(process_of(rows.maybe(2)));
        const std::string api = rows.text(4);
        if (to == nullptr || api.empty()) continue;
        const ImportedNumber tid = rows.maybe(2);
        if (tid) extend(calls_, *tid, {rows.number(0), std::max(rows.number(0), rows.number(1))});
        const bool may_say_not_yet = kind_of_api(api).kind == "query";
        to->call({api, rows.number(0), std::max<int64_t>(rows.number(1) - rows.number(0), 0),
                  tid ? ImportedNumber(*tid & kIdMask) : tid, rows.maybe(3),
                  rows.number(5) != 0 && !may_say_not_yet});
    }
}

void NsysImport::read_waits() {
    NsysTable rows(base_, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                   {"globalPid", "correlationId", "deviceId", "contextId", "streamId"});
    while (rows.step()) {
        TraceWriter* to = writer(process_of(rows.maybe(0)));
        const ImportedNumber stream = valid(rows.maybe(4));
        if (to != nullptr && stream && rows.maybe(2))
            to->waited_for(rows.number(1), {valid(rows.maybe(2)), rows.maybe(3), stream});
    }
}

// Columns that all operations have, and their own behind them.
#define GPUSHIM_OPERATION_COLUMNS \
    "globalPid", "start", "end", "deviceId", "contextId", "streamId", "correlationId"
constexpr int kOwnColumn = 7;

// None: no times, as in an export of other columns, or none that a recording can have.
std::optional<ImportedWork> work_of(ImportedWork::What what, const NsysTable& rows) {
    constexpr int64_t kMostNs = int64_t{1} << 61;  // 73 years
    if (!rows.maybe(1) || !rows.maybe(2)) return {};
    const int64_t start_ns = rows.number(1), end_ns = rows.number(2);
    if (std::max(start_ns, end_ns) > kMostNs || std::min(start_ns, end_ns) < -kMostNs) return {};
    return ImportedWork{.what = what,
                        .name = {},
                        .start_ns = start_ns,
                        .duration_ns = std::max<int64_t>(end_ns - start_ns, 0),
                        .stream = {rows.maybe(3), rows.maybe(4), rows.maybe(5)},
                        .correlation = rows.maybe(6)};
}

// Where it can be read; `complete` adds what the table has of its own.
template <typename Complete>
void NsysImport::take_work(ImportedWork::What what, const NsysTable& rows, Complete complete) {
    const int64_t process = process_of(rows.maybe(0));
    TraceWriter* const to = writer(process);
    if (to == nullptr) return;
    std::optional<ImportedWork> work = work_of(what, rows);
    if (!work) return void(++damaged_[process]);
    complete(*work);
    to->work(*work);
}

void NsysImport::read_allocations() {
    constexpr int64_t kFreed = 1;
    NsysTable rows(base_, "CUDA_GPU_MEMORY_USAGE_EVENTS",
                   {"globalPid", "correlationId", "bytes", "memoryOperationType"});
    while (rows.step()) {
        TraceWriter* to = writer(process_of(rows.maybe(0)));
        const int64_t sign = rows.number(3) == kFreed ? -1 : 1;
        if (to != nullptr && rows.maybe(2)) to->allocated(rows.number(1), sign * rows.number(2));
    }
}

void NsysImport::read_kernels() {
    NsysTable rows(base_, "CUPTI_ACTIVITY_KIND_KERNEL",
                   {GPUSHIM_OPERATION_COLUMNS, "#demangledName|mangledName|shortName", "gridX", "gridY",
                    "gridZ", "blockX", "blockY", "blockZ", "dynamicSharedMemory"});
    while (rows.step()) {
        const std::string name = rows.text(kOwnColumn);
        take_work(ImportedWork::What::kernel, rows, [&](ImportedWork& work) {
            work.name = name.empty() ? "(name not recorded)" : std::string_view(name);
            work.grid = rows.three(kOwnColumn + 1);
            work.block = rows.three(kOwnColumn + 4);
            work.shared_bytes = rows.maybe(kOwnColumn + 7);
        });
    }
}

void NsysImport::read_copies() {
    NsysTable rows(base_, "CUPTI_ACTIVITY_KIND_MEMCPY",
                   {GPUSHIM_OPERATION_COLUMNS, "bytes", "copyKind", "srcKind", "dstKind", "migrationCause"});
    while (rows.step())
        take_work(ImportedWork::What::copy, rows, [&](ImportedWork& work) {
            work.bytes = rows.maybe(kOwnColumn);
            work.direction = direction(rows.maybe(kOwnColumn + 1));
            const bool migrates = is_migration(rows.maybe(kOwnColumn + 1));
            work.source = migrates ? kManaged : memory(rows.maybe(kOwnColumn + 2));
            const uint8_t moved_to = rows.maybe(kOwnColumn + 4) == kAskedFor ? kNotTold : kManaged;
            work.target = migrates ? moved_to : memory(rows.maybe(kOwnColumn + 3));
        });
}

void NsysImport::read_sets_and_graphs() {
    NsysTable sets(base_, "CUPTI_ACTIVITY_KIND_MEMSET", {GPUSHIM_OPERATION_COLUMNS, "bytes"});
    while (sets.step())
        take_work(ImportedWork::What::set, sets,
                  [&](ImportedWork& work) { work.bytes = sets.maybe(kOwnColumn); });
    NsysTable graphs(base_, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", {GPUSHIM_OPERATION_COLUMNS});
    while (graphs.step()) take_work(ImportedWork::What::graph, graphs, [](ImportedWork&) {});
}

void NsysImport::find_operators() {
    NsysTable rows(base_, "NVTX_EVENTS", {"start", "end", "globalTid", "text", "#textId"});
    while (rows.step()) {
        if (!rows.maybe(1) || !rows.maybe(2)) continue;
        if (operator_in(rows.text(3).empty() ? rows.text(4) : rows.text(3)))
            extend(operators_, rows.number(2), {rows.number(0), rows.number(1)});
    }
}

void NsysImport::take_operator(TraceWriter& to, const NsysOperator& is, const NsysTable& rows) {
    const int64_t thread = rows.number(2), start_ns = rows.number(0);
    const int64_t duration_ns = std::max<int64_t>(rows.number(1) - start_ns, 0);
    to.within(is.name, is.is_backward ? ImportedOperator::backward : ImportedOperator::plain, start_ns,
              duration_ns, thread & kIdMask, is.sequence);
    to.inside(is.name, HostInside::framework, start_ns, duration_ns, thread & kIdMask);
}

void NsysImport::say_untold() {
    for (const auto& [thread, operators] : operators_) {
        const auto calls = calls_.find(thread);
        TraceWriter* const to = writer(process_of(thread));
        if (to == nullptr || calls == calls_.end()) continue;
        const auto [before, behind] = untold_around(operators, calls->second);
        for (const Interval& untold : {before, behind})
            to->inside({HostInside::untold}, untold.start_ns, untold.length_ns(), thread & kIdMask);
    }
}

// What has no end lies open when the recording ended.
void NsysImport::read_ranges() {
    find_operators();
    NsysTable rows(base_, "NVTX_EVENTS", {"start", "end", "globalTid", "text", "#textId", "eventType"});
    while (rows.step()) {
        TraceWriter* to = writer(process_of(rows.maybe(2)));
        const std::string name = rows.text(3).empty() ? rows.text(4) : rows.text(3);
        const int64_t type = rows.maybe(5).value_or(kPushPop);
        const bool is_mark = type == kMark;
        if (to == nullptr || name.empty() || (type != kPushPop && type != kStartEnd && !is_mark)) continue;
        if (!is_mark && !rows.maybe(1)) continue;
        const ImportedNumber tid = rows.maybe(2);
        if (const auto is = operator_in(name); is && tid && type == kPushPop) {
            take_operator(*to, *is, rows);
            continue;
        }
        to->range(name, rows.number(0), is_mark ? 0 : rows.number(1) - rows.number(0),
                  tid ? ImportedNumber(*tid & kIdMask) : tid,
                  is_mark             ? ImportedRange::mark
                  : type == kStartEnd ? ImportedRange::free
                                      : ImportedRange::nested);
    }
    say_untold();
}

void NsysImport::read_host() {
    const WriterOfThread writer_of = [this](int64_t thread) {
        return calls_.contains(thread) ? writer(process_of(thread)) : nullptr;
    };
    read_messages(base_, writer_of);
    read_os_calls(base_, writer_of);
    read_scheduling(base_, writer_of);
}

void NsysImport::read_thread_names() {
    NsysTable rows(base_, "ThreadNames", {"globalTid", "#nameId"});
    while (rows.step())
        if (TraceWriter* to = writer(process_of(rows.maybe(0))))
            to->name_thread(rows.number(0) & kIdMask, rows.text(1));
}

// Of a table of names and values.
std::string NsysImport::only_text(std::string_view table, std::string_view column,
                                  std::string_view key) const {
    NsysTable rows(base_, table, {column, "value"});
    while (rows.step())
        if (rows.text(0) == key) return rows.text(1);
    return {};
}

ImportedTrace NsysImport::described(int64_t process) const {
    ImportedTrace trace;
    trace.source = "nsys";
    trace.file = std::filesystem::path(file_).filename().string();
    trace.host = only_text("TARGET_INFO_SYSTEM_ENV", "name", "Hostname");
    NsysTable session(base_, "TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"});
    const bool has_epoch = session.step() && session.maybe(0);
    trace.base_ns = has_epoch ? session.number(0) : 0;
    trace.has_epoch = has_epoch;
    if (process != 0) trace.pid = process;
    const bool is_only = places_.size() == 1;
    const NsysRank rank = nsys_rank(base_, process, is_only);
    trace.rank = rank.rank || !is_only ? rank.rank : rank_of_file_name(file_, numbers_count_);
    trace.world_size = rank.world_size;
    if (!operators_.empty()) trace.frameworks = "pytorch";
    NsysTable names(base_, "PROCESSES", {"pid", "name"});
    while (names.step())
        if (names.number(0) == process) trace.executable = names.text(1);
    trace.devices = nsys_devices(base_, process);
    const auto damaged = damaged_.find(process);
    trace.damaged = damaged == damaged_.end() ? 0 : damaged->second;
    return trace;
}

ImportedFile NsysImport::finish() {
    ImportedFile made;
    int64_t of_no_gpu = 0;
    for (const auto& [process, place] : places_) {
        of_no_gpu += writers_[process]->finish(described(process)).of_no_gpu;
        made.traces.push_back(place);
        writers_.erase(process);
    }
    if (of_no_gpu > 0) made.note = file_ + ": " + too_many_gpus(of_no_gpu);
    if (!nsys_has_work(base_)) made.note = file_ + ": no work of a GPU in it" + nsys_warning(base_);
    const auto add = [&](const std::string& what) {
        made.note += (made.note.empty() ? file_ + ": " : "; ") + what;
    };
    uint64_t damaged = 0;
    for (const auto& [process, count] : damaged_) damaged += count;
    if (damaged > 0) add(std::to_string(damaged) + " operations have no times that could be read");
    if (const std::string missing = nsys_missing_tables(base_); !missing.empty()) add(missing);
    return made;
}

}  // namespace

ImportedFile import_nsys(const std::string& file, const std::filesystem::path& place, bool numbers_count) {
    if (file.ends_with(".nsys-rep") || file.ends_with(".qdrep"))
        throw Failure(file + ": not exported yet: nsys export --type sqlite FILE");
    return NsysImport(file, place, numbers_count).run();
}

}  // namespace gpushim::analysis
