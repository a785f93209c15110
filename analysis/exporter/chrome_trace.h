// One process as a trace of PyTorch's profiler (Kineto): streams and threads as rows, arrows from launches to
// what they launched, counters, steps, what NCCL was asked for. Row by row, in constant memory. Times are
// after baseTimeNanoseconds. One thread.
#pragma once

#include <set>

#include "counters.h"
#include "event_text.h"
#include "export_row.h"
#include "nccl_arguments.h"
#include "text_file.h"
#include "tracks.h"

namespace gpushim::analysis {

// Rows of our own have numbers that are no thread's and no stream's.
constexpr int64_t kStepsTid = 0, kGapsTid = 2'000'000'000, kWindowsTid = kGapsTid;

// What came of it, and what could not be drawn.
struct ChromeCounts {
    int64_t rows = 0, operations = 0;
    int64_t untimed = 0;     // operations without device times: only their calls are there
    int64_t too_many = 0;    // that overlapped more than there are rows for
    int64_t unfinished = 0;  // calls in which the process ended: instants
};

class ChromeTrace {
  public:
    ChromeTrace(TextFile& file, const ExportHead& head, std::string_view of_what);

    void add(const ExportRow& row);
    // In which operations of a device were given times.
    void window(int64_t device, int64_t start_ns, int64_t dur_ns, int64_t operations, int64_t timed);
    void sample(int64_t at_ns, int64_t device, std::string_view key, double value);  // of NVML
    ChromeCounts finish();

  private:
    int64_t after_base(int64_t ns) const { return ns - base_ns_; }
    void put(EventText& event);
    void write_head(std::string_view of_what);
    void write_steps();
    void write_names();
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
    int64_t base_ns_, pid_;
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
