#include "chrome_trace.h"

#include <algorithm>

namespace gpushim::analysis {

namespace {

constexpr int64_t kMostTid = 1 << 22;  // that the system gives
constexpr int64_t kOtherPid = 1'000'000'000;
// HTA (0.5.0) keeps numbers of rows in as many bits as these numbers need, and fails where that is too few.
constexpr int64_t kFirstCorrelation = 1 << 20;
constexpr int64_t kDeviceMemory = 4;  // kind of memory

// In the profiler's words; by numbers of our table `copy`.
constexpr const char* kDirections[] = {"", "HtoD", "DtoH", "DtoD", "PtoP", "HtoH"};
constexpr const char* kSides[] = {"Unknown", "Pageable", "Pinned", "Managed", "Device", "Array"};
constexpr int64_t kHostToHost = 5;

template <size_t n>
const char* word(const char* const (&words)[n], int64_t number) {
    return words[number >= 0 && number < static_cast<int64_t>(n) ? static_cast<size_t>(number) : 0];
}

std::string copy_name(const ExportRow& row) {
    const int64_t sides = row.number(2) == kNoNumber ? 0 : row.number(2);
    const std::string direction = word(kDirections, row.number(1));
    return "Memcpy " + direction + (direction.empty() ? "(" : " (") + word(kSides, sides & 7) + " -> " +
           word(kSides, sides >> 3) + ")";
}

const char* category_of_call(std::string_view api) {
    if (api.starts_with("nccl")) return "nccl";
    return api.starts_with("cuda") ? "cuda_runtime" : "cuda_driver";
}

// Streams and threads share the numbers of processes: the GPU's is its own.
int64_t pid_beside(const ExportHead& head) {
    for (const ExportDevice& device : head.devices)
        if (device.id == head.pid) return head.pid + kOtherPid;
    return head.pid;
}

}  // namespace

int64_t base_before(int64_t first_ns) {
    constexpr int64_t kMicrosecondNs = 1000;
    const int64_t before = first_ns - kMicrosecondNs;
    return before - before % kMicrosecondNs;
}

ChromeTrace::ChromeTrace(TextFile& file, const ExportHead& head, std::string_view of_what)
    : ChromeTrace(file, head, base_before(head.first_ns), pid_beside(head)) {
    write_head(of_what);
    write_steps();
}

ChromeTrace::ChromeTrace(TextFile& file, const ExportHead& head, const ChromePart& part)
    : ChromeTrace(file, head, part.base_ns, part.pid) {
    part_ = part;
    shift_ns_ = part.shift_ns;
    is_first_ = part.is_first;
    correlation_ = part.correlations;
    process_ranges_ = part.process_ranges;
    write_steps();
}

ChromeTrace::ChromeTrace(TextFile& file, const ExportHead& head, int64_t base_ns, int64_t pid)
    : file_(file),
      head_(head),
      base_ns_(base_ns),
      pid_(pid),
      nccl_(head.world_size),
      counters_(
          [this](int64_t device, int64_t stream, int64_t at_ns, int64_t depth) {
              event_.begin('C', "", "queue of stream " + std::to_string(stream));
              put(event_.at(gpu(device), stream, after_base(at_ns)).arg("launched and not over", depth));
          },
          [this](int64_t device, int64_t at_ns, bool busy) {
              event_.begin('C', "", "busy");
              put(event_.at(gpu(device), 0, after_base(at_ns)).arg("something runs", int64_t{busy}));
          }) {}

ChromePart ChromeTrace::next(int64_t shift_ns) const {
    return {shift_ns, base_ns_, pid_ + kPidsOfPart, false, correlation_, process_ranges_};
}

void ChromeTrace::put(EventText& event) {
    file_.write(is_first_ ? "\n" : ",\n");
    is_first_ = false;
    file_.write(event.end());
}

Placed ChromeTrace::write_call(const ExportRow& row, int64_t correlation) {
    const int64_t tid = row.tid == kNoNumber ? pid_ : row.tid;
    const Placed placed = tracks_.nested(pid_, tid, row.enter_ns, row.enter_ns + row.dur_ns);
    event_.begin('X', category_of_call(row.name), row.name.empty() ? "(not recorded)" : row.name);
    event_.at(pid_, placed.tid, after_base(placed.start_ns)).lasts(placed.end_ns - placed.start_ns);
    event_.arg("correlation", correlation);
    const bool is_about_event = row.kind == ExportKind::sync || row.kind == ExportKind::call;
    const bool is_untimed = row.is_operation() && row.ran() && correlation == kNoNumber;
    if (is_about_event) event_.arg("event", row.number(0));
    if (is_about_event || is_untimed)
        event_.arg("call device", row.device).arg("call context", row.context).arg("call stream", row.stream);
    if (is_untimed) event_.arg("kernel", row.what);
    if (row.kind == ExportKind::sync && row.number(1) != 1) event_.arg("calls", row.number(1));
    for (const auto& [flag, key] : {std::pair(kRowCaptured, "captured"), std::pair(kRowFailed, "failed")})
        if ((row.flags & flag) != 0) event_.arg(key, 1);
    put(event_);
    return placed;
}

void ChromeTrace::begin_operation(const ExportRow& row) {
    if (row.kind == ExportKind::launch)
        event_.begin('X', "kernel", row.what.empty() ? "(not recorded)" : row.what);
    else if (row.kind == ExportKind::graph)
        event_.begin('X', "kernel", "graph " + std::to_string(std::max<int64_t>(row.number(0), 0)));
    else if (row.kind == ExportKind::copy)
        event_.begin('X', "gpu_memcpy", copy_name(row));
    else
        event_.begin('X', "gpu_memset", "Memset (Device)");
}

void ChromeTrace::write_operation(const ExportRow& row) {
    const bool is_of_host = row.kind == ExportKind::copy && row.number(1) == kHostToHost;
    const bool is_timed = row.start_ns != kNoNumber && row.device != kNoNumber && !is_of_host;
    std::optional<Placed> ran;
    if (row.ran() && is_timed)
        ran = tracks_.in_a_row(gpu(row.device), row.stream, row.start_ns, row.start_ns + row.ran_ns);
    counts_.untimed += row.ran() && !is_timed && !is_of_host;
    counts_.too_many += row.ran() && is_timed && !ran;
    std::optional<Placed> call;
    const int64_t correlation = ran ? kFirstCorrelation + ++correlation_ : kNoNumber;
    if (row.dur_ns != kNoNumber) call = write_call(row, correlation);
    if (!ran) return;
    ++counts_.operations;
    begin_operation(row);
    event_.at(gpu(row.device), ran->tid, after_base(ran->start_ns)).lasts(ran->end_ns - ran->start_ns);
    event_.arg("device", row.device).arg("context", row.context).arg("stream", row.stream);
    event_.arg("correlation", correlation);
    if (row.kind == ExportKind::launch) {
        const auto& n = row.numbers;
        event_.arg("grid", std::array{n[1], n[2], n[3]}).arg("block", std::array{n[4], n[5], n[6]});
        event_.arg("shared memory", n[0]);
        if (row.group != kNoNumber) nccl_.tell(row, event_);
    } else if (row.kind == ExportKind::graph) {
        event_.arg("graph id", row.number(0)).arg("kernels", std::max<int64_t>(row.number(1), -1));
    } else {
        event_.arg("bytes", row.number(0));
        if (row.ran_ns > 0 && row.number(0) != kNoNumber)
            event_.decimal("memory bandwidth (GB/s)",
                           static_cast<double>(row.number(0)) / static_cast<double>(row.ran_ns));
    }
    if (row.error_ns > 0) event_.arg("estimated within ns", row.error_ns);
    put(event_);
    if (call) write_arrow(row, *call, *ran, correlation);
    counters_.add({row.device, row.stream, row.enter_ns, row.start_ns, row.start_ns + row.ran_ns});
}

void ChromeTrace::write_arrow(const ExportRow& row, const Placed& call, const Placed& ran,
                              int64_t correlation) {
    event_.begin('s', "ac2g", "ac2g").at(pid_, call.tid, after_base(call.start_ns));
    put(event_.member("id", correlation));
    event_.begin('f', "ac2g", "ac2g").at(gpu(row.device), ran.tid, after_base(ran.start_ns));
    put(event_.member("id", correlation).member("bp", "e"));
}

// Of the device's memory that the driver gave out.
void ChromeTrace::write_memory(const ExportRow& row) {
    constexpr int64_t kCuda = 1;  // the profiler's number of that kind of device
    if (!row.ran() || row.device == kNoNumber || row.number(1) != kDeviceMemory) return;
    const int64_t end_ns = row.enter_ns + row.dur_ns;
    if (row.number(0) != kNoNumber) {
        event_.begin('i', "cpu_instant_event", "[memory]").member("s", "t");
        event_.at(pid_, row.tid, after_base(end_ns)).arg("Bytes", row.number(0)).arg("Addr", row.number(2));
        event_.arg("Device Type", kCuda).arg("Device Id", row.device);
        put(event_.arg("Total Allocated", row.number(3)));
    }
    if (row.number(3) == kNoNumber) return;
    event_.begin('C', "", "memory of context " + std::to_string(row.context));
    put(event_.at(gpu(row.device), 0, after_base(end_ns)).arg("bytes held", row.number(3)));
}

// A range of the whole process has two ends in any threads: as such it is drawn.
void ChromeTrace::write_range(const ExportRow& row) {
    const int64_t end_ns = row.dur_ns == kNoNumber ? head_.last_ns : row.enter_ns + row.dur_ns;
    const int64_t tid = row.tid == kNoNumber ? pid_ : row.tid;
    if (row.kind == ExportKind::process_range) {
        ++process_ranges_;
        for (const char phase : {'b', 'e'}) {
            event_.begin(phase, "range", row.name).member("id", process_ranges_);
            put(event_.at(pid_, tid, after_base(phase == 'b' ? row.enter_ns : end_ns)));
        }
        return;
    }
    const Placed placed = tracks_.nested(pid_, tid, row.enter_ns, std::max(end_ns, row.enter_ns));
    event_.begin('X', "user_annotation", row.name);
    event_.at(pid_, placed.tid, after_base(placed.start_ns)).lasts(placed.end_ns - placed.start_ns);
    if (row.dur_ns == kNoNumber) event_.arg("still open", 1);
    put(event_);
}

void ChromeTrace::write_gap(const ExportRow& row) {
    if (row.tid == kNoNumber || row.tid < 0 || row.tid > kMostTid) return;
    gaps_of_.insert(row.tid);
    const Placed placed = tracks_.nested(pid_, kGapsTid + row.tid, row.enter_ns, row.enter_ns + row.dur_ns);
    const bool on_cpu = row.number(0) != kNoNumber && 2 * row.number(0) >= row.dur_ns;
    event_.begin('X', "host_gap",
                 row.number(0) == kNoNumber ? "between calls"
                 : on_cpu                   ? "on a CPU"
                                            : "blocked");
    event_.at(pid_, placed.tid, after_base(placed.start_ns)).lasts(placed.end_ns - placed.start_ns);
    event_.arg("thread", row.tid).arg("running ns", row.number(0)).arg("runqueue ns", row.number(1));
    put(event_.arg("samples", row.number(2)).arg("blocked on", row.what));
}

void ChromeTrace::write_instant(const ExportRow& row, const char* category) {
    event_.begin('i', category, row.name.empty() ? "(not recorded)" : row.name).member("s", "t");
    event_.at(pid_, row.tid == kNoNumber ? pid_ : row.tid, after_base(row.enter_ns));
    if ((row.flags & kRowUnfinished) != 0) event_.arg("unfinished", 1);
    put(event_);
}

void ChromeTrace::add(const ExportRow& row) {
    ++counts_.rows;
    if (row.kind == ExportKind::range || row.kind == ExportKind::process_range) return write_range(row);
    if (row.kind == ExportKind::gap) return write_gap(row);
    if (row.kind == ExportKind::mark) return write_instant(row, "mark");
    if (row.dur_ns == kNoNumber && (row.flags & kRowUnfinished) != 0) {
        ++counts_.unfinished;
        return write_instant(row, category_of_call(row.name));
    }
    if (row.is_operation()) return write_operation(row);
    if (row.kind == ExportKind::collective) nccl_.asked(row);
    if (row.dur_ns != kNoNumber) write_call(row, kNoNumber);
    if (row.kind == ExportKind::memory && row.dur_ns != kNoNumber) write_memory(row);
}

void ChromeTrace::window(int64_t device, int64_t start_ns, int64_t dur_ns, int64_t operations,
                         int64_t timed) {
    const Placed placed = tracks_.nested(gpu(device), kWindowsTid, start_ns, start_ns + dur_ns);
    event_.begin('X', "timed_window", "device times are known");
    event_.at(gpu(device), placed.tid, after_base(placed.start_ns)).lasts(placed.end_ns - placed.start_ns);
    put(event_.arg("device", device).arg("operations", operations).arg("timed", timed));
}

void ChromeTrace::sample(int64_t at_ns, int64_t device, std::string_view key, double value) {
    event_.begin('C', "", key);
    put(event_.at(gpu(device), 0, after_base(at_ns)).decimal("sample", value));
}

}  // namespace gpushim::analysis
