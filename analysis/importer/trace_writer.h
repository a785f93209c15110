// Makes a trace of our schema (shim/schema) of what another profiler recorded. Whoever reads that profiler's
// files gives calls and operations in any order; they are joined by correlation and written by time when all
// are here.
//
//   call        |enter──────|                  of the same correlation: one row of `launch`, and the
//   operation                   |start──────|  operation's times beside it
//
// An operation without its call begins where it ran; a call without an operation is what its name says.
// Memory is bounded (sorted in a file beside the trace). Throws Failure where nothing can be written. One
// thread.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host_words.h"
#include "imported_names.h"
#include "imported_row.h"
#include "open_operators.h"

namespace gpushim::analysis {

using ImportedNumber = std::optional<int64_t>;

struct ImportedCall {
    std::string_view api;
    int64_t start_ns, duration_ns;
    ImportedNumber thread, correlation;
    bool failed = false;
    ImportedStream stream = {};    // where it waits, asks, records, orders or gave work, if that is told
    ImportedNumber event = {};     // the event that they are about
    std::string_view kernel = {};  // that it launched, where nothing else tells of it
};

struct ImportedGap {  // a thread between two calls
    int64_t start_ns, duration_ns;
    ImportedNumber thread, running_ns, runqueue_ns, samples;
    std::string_view blocked_on;
};

// As the source calls them; empty: not said.
struct ImportedArguments {
    std::string_view collective, dtype, group, group_description, group_ranks;
    ImportedNumber in_elements, out_elements, group_size, source_rank, target_rank, sequence;
};

struct ImportedWork {
    enum class What : uint8_t { kernel, copy, set, graph } what;
    std::string_view name;  // of a kernel
    int64_t start_ns, duration_ns;
    ImportedStream stream;
    ImportedNumber correlation;
    std::optional<std::array<int64_t, 3>> grid = {}, block = {};
    ImportedNumber shared_bytes = {}, bytes = {};
    uint8_t direction = 0, source = 0, target = 0;  // as in our table `copy`
    ImportedArguments arguments = {};
    ImportedNumber operator_id = {};  // what the framework was in when it asked for this: see explain
};

struct ImportedDevice {
    int64_t id;
    std::string uuid, name;
    ImportedNumber memory_bytes, multiprocessors, compute_major, compute_minor;
};

struct ImportedWindow {  // what was launched in it has device times
    int64_t device, start_ns, duration_ns, operations, timed;
};

// What is known of the whole trace; all of it only at the end.
struct ImportedTrace {
    std::string source;  // kineto, nsys, xplane: also the level of its times
    std::string file, host, executable, note;
    std::string frameworks;   // "jax": whose profiler it was; empty: not told
    int64_t base_ns = 0;      // added to every time: they are then since 1970, and so is our clock
    bool has_epoch = true;    // false: since when the times are is not known
    int64_t fraction_ns = 0;  // of a time that is given less exactly than to the ns: how much may be missing
    ImportedNumber pid, rank, world_size;
    uint64_t damaged = 0;  // elements that could not be read
    std::vector<ImportedDevice> devices;
    std::vector<ImportedWindow> windows = {};  // none: all of the trace is one
    bool joins_threads = false;                // calls and spans number the same threads differently
    ImportedNumber program_thread = {};  // what it is in counts for a thread that is in nothing of its own
};

struct ImportedCounts {
    int64_t rows = 0, operations = 0, without_call = 0, calls_without_operation = 0;
    int64_t of_no_gpu = 0;  // there is no room for more, or for its stream
};
// What to say of those; empty: there are none.
std::string too_many_gpus(int64_t operations);

// What became of a file.
struct ImportedFile {
    std::vector<std::filesystem::path> traces;
    std::string note;  // what the reader should know; empty: all is well
};

class TraceWriter {
  public:
    // Takes three times so much memory, and names.
    explicit TraceWriter(std::filesystem::path place, size_t sorted_bytes = 24 << 20);
    ~TraceWriter();

    void call(const ImportedCall& call);
    void work(const ImportedWork& work);
    void gap(const ImportedGap& gap);
    void waited_for(int64_t correlation, const ImportedStream& stream);  // what a call waited for
    // What an operator of the framework says of the collective that its kernels are, where they do not.
    void explain(int64_t operator_id, const ImportedArguments& arguments);
    // What a range of its thread says of the collective that kernels launched in it are, where neither they
    // nor an operator do.
    void said(const ImportedArguments& arguments, int64_t start_ns, int64_t duration_ns, int64_t thread);
    void allocated(int64_t correlation, int64_t bytes);  // by a call; freed: negative
    void range(std::string_view name, int64_t start_ns, int64_t duration_ns, ImportedNumber thread,
               ImportedRange kind = ImportedRange::nested);
    // What a thread was inside of; kept of those that launch. A range's name may say it, too. By that name,
    // or if that says nothing as `otherwise`.
    void inside(std::string_view name, HostInside otherwise, int64_t start_ns, int64_t duration_ns,
                ImportedNumber thread);
    void inside(HostTold told, int64_t start_ns, int64_t duration_ns, ImportedNumber thread);
    // An operator of the framework, or a module of the model: kernels launched in it are its own.
    void within(std::string_view name, ImportedOperator is, int64_t start_ns, int64_t duration_ns,
                ImportedNumber thread, ImportedNumber sequence = {});
    void name_thread(int64_t thread, std::string_view name);
    ImportedCounts finish(const ImportedTrace& trace);

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace gpushim::analysis
