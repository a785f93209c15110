// One process as a trace of PyTorch's profiler (Kineto): streams and threads as rows, arrows from launches to
// what they launched, counters, steps, what NCCL was asked for. Row by row, in constant memory. Times are
// after baseTimeNanoseconds. Or, where a file holds several processes, one of them, by numbers and times that
// all have in common (merged_trace.h). One thread.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "counters.h"
#include "event_text.h"
#include "export_row.h"
#include "nccl_arguments.h"
#include "text_file.h"
#include "tracks.h"

namespace gpushim::analysis {

// Rows of our own have numbers that are no thread's and no stream's.
constexpr int64_t kStepsTid = 0, kGapsTid = 2'000'000'000, kWindowsTid = kGapsTid;

constexpr int64_t kPidsOfPart = 1000;  // of a process of several: its own, and those of its GPUs

// What came of it, and what could not be drawn.
struct ChromeCounts {
    int64_t rows = 0, operations = 0;
    int64_t untimed = 0;     // operations without device times: only their calls are there
    int64_t too_many = 0;    // that overlapped more than there are rows for
    int64_t unfinished = 0;  // calls in which the process ended: instants
};

// Where one process of several stands in their file.
struct ChromePart {
    int64_t shift_ns, base_ns;  // add the one to its times, and count from the other
    int64_t pid;                // of the process; those behind it are its GPUs'
    bool is_first;
    int64_t correlations, process_ranges;  // that those before it took
};

// A whole microsecond before everything, so that what lies on whole ones stays there.
int64_t base_before(int64_t first_ns);

// Behind the last event.
void write_end(TextFile& file, const ChromeCounts& counts);

class ChromeTrace {
  public:
    ChromeTrace(TextFile& file, const ExportHead& head, std::string_view of_what);
    ChromeTrace(TextFile& file, const ExportHead& head, const ChromePart& part);

    void add(const ExportRow& row);
    // In which operations of a device were given times.
    void window(int64_t device, int64_t start_ns, int64_t dur_ns, int64_t operations, int64_t timed);
    void sample(int64_t at_ns, int64_t device, std::string_view key, double value);  // of NVML
    ChromeCounts finish();
    // The part behind this one, whose own shift is its.
    ChromePart next(int64_t shift_ns) const;

  private:
    ChromeTrace(TextFile& file, const ExportHead& head, int64_t base_ns, int64_t pid);
    int64_t after_base(int64_t ns) const { return ns + shift_ns_ - base_ns_; }
    int64_t gpu(int64_t device) const { return part_ ? part_->pid + 1 + device : device; }
    std::string in_front() const;
    void put(EventText& event);
    void write_head(std::string_view of_what);
    void write_steps();
    void write_names();
    void write_gpu_names(const std::string& rank);
    void name(int64_t pid, int64_t tid, const char* what, std::string_view text);
    void order(int64_t pid, int64_t tid, const char* what, int64_t place);
    Placed write_call(const ExportRow& row, int64_t correlation);
    void write_operation(const ExportRow& row);
    void begin_operation(const ExportRow& row);
    void write_arrow(const ExportRow& row, const Placed& call, const Placed& ran, int64_t correlation);
    void write_memory(const ExportRow& row);
    void write_range(const ExportRow& row);
    void write_gap(const ExportRow& row);
    void write_instant(const ExportRow& row, const char* category);

    TextFile& file_;
    const ExportHead& head_;
    std::optional<ChromePart> part_;
    int64_t shift_ns_ = 0, base_ns_, pid_;
    EventText event_;
    Tracks tracks_;
    NcclArguments nccl_;
    Counters counters_;
    std::set<int64_t> gaps_of_;  // threads
    int64_t correlation_ = 0, process_ranges_ = 0;
    bool is_first_ = true;
    ChromeCounts counts_;
};

}  // namespace gpushim::analysis
