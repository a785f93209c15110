// What there is to export of one process: who it is, and its calls, ranges and gaps one after the other, with
// every number already as it is shown. Rows come from a trace (trace_rows) or from what a run has kept
// (kept_rows), in order of enter, of those that begin together the longest first. Plain values; views live
// until the next row is asked for.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <vector>
#include "../../shim/schema/flags.h"

namespace gpushim::analysis {

enum class ExportKind : uint8_t {
    launch,
    copy,
    memset,
    graph,
    sync,
    collective,
    memory,
    call,
    range,          // of a thread
    process_range,  // begins in one thread and may end in another
    gap,            // the thread between two calls
    mark,
    kCount
};

struct ExportRow {
    static constexpr int64_t kNone = INT64_MIN;  // not recorded
    static constexpr size_t kNumbers = 7;

    ExportKind kind{};
    int64_t enter_ns = 0, dur_ns = kNone;
    int64_t tid = kNone;
    int64_t flags = 0;  // shim/schema/flags.h
    int64_t device = kNone, context = kNone, stream = kNone;
    int64_t group = kNone;                           // the NCCL call that it is, or is part of
    int64_t start_ns = kNone, ran_ns = kNone;        // on the device
    int64_t error_ns = 0;                            // of these, if they are estimates; 0: stamps
    std::string_view name;                           // of the call, range or mark
    std::string_view what;                           // kernel; communicator; what a thread was blocked on
    std::array<int64_t, kNumbers> numbers = none();  // by kind, below

    // launch: shared bytes, grid, block · copy: bytes, direction, sides · memset: bytes
    // graph: number of the graph, kernels in it · sync, call: event (handle.id), calls it stands for
    // collective: bytes, count, type, peer, number on its communicator, ranks, rank
    // memory: bytes, kind, address, held · gap: ns on a CPU, ns without one though ready, samples
    int64_t number(size_t i) const { return numbers[i]; }
    bool ran() const { return kRan(flags); }
    bool is_operation() const { return kind <= ExportKind::graph; }

    static constexpr std::array<int64_t, kNumbers> none() {
        std::array<int64_t, kNumbers> all{};
        all.fill(kNone);
        return all;
    }
};

constexpr int64_t kNoNumber = ExportRow::kNone;

struct ExportDevice {
    int64_t id;
    std::string uuid, name;
    std::optional<int64_t> memory_bytes;
};
struct ExportTrack {  // a thread or a stream
    int64_t device;   // of a stream
    int64_t number;
    std::string name;
};
struct ExportStep {
    int64_t number, begin_ns, end_ns;
};

struct ExportHead {
    int64_t pid = 0;
    std::string executable, host, file;
    std::optional<int64_t> rank, world_size;
    int64_t real_minus_mono_ns = 0;
    int64_t first_ns = 0, last_ns = 0;  // all rows lie between
    std::vector<ExportDevice> devices;
    std::vector<ExportTrack> threads, streams;
    std::vector<ExportStep> steps;  // none: the rows have them as ranges, or there are none
};

class ExportRows {
  public:
    virtual ~ExportRows() = default;
    virtual bool next(ExportRow& row) = 0;
};

}  // namespace gpushim::analysis
