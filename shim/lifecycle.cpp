#include "lifecycle.h"

#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "alarm/hang_command.h"
#include "base/log.h"
#include "base/protection.h"
#include "base/run_notes.h"
#include "base/system.h"
#include "base/unknown_settings.h"
#include "calls/resolve.h"
#include "machine/devices.h"
#include "machine/frameworks.h"
#include "machine/nvml_sampler.h"
#include "machine/script_name.h"
#include "metrics/process_metrics.h"
#include "program/capture_range.h"
#include "program/nccl_plugin.h"
#include "program/nvtx.h"
#include "ring/clock.h"
#include "ring/host_gap.h"
#include "writer/last_words.h"
#include "writer/output_folder.h"
#include "writer/trace_path.h"
#include "writer/writer.h"

namespace gpushim::shim {
namespace {

constexpr int64_t kForkWaitNs = 20'000'000;
constexpr int64_t kStartWaitNs = 2'000'000'000;
constexpr size_t kPageBytes = 4096;
static_assert(sizeof(ProcessState) <= kPageBytes);

enum class Switch : uint32_t { unread, on, off };
constinit std::atomic<Switch> power = Switch::unread;
constinit std::atomic<bool> exiting = false;
constinit std::atomic<bool> exit_is_watched = false;
constinit std::atomic<bool> forked = false;
constinit std::atomic<uint32_t> starts = 0;  // of this process and those it was forked from
constinit char trace_path[1024] = {};
constinit char metrics_path[1024] = {};
constinit TraceIdentity identity = {};
constinit Device devices[kMostDevices] = {};

bool is_switched_off() {
    const char* text = getenv("GPUSHIM_DISABLE");
    return (text != nullptr && *text != '\0' && strcmp(text, "0") != 0) ||
           (kept(Protection::at_secure) && getauxval(AT_SECURE) != 0);
}

// --- fork -----------------------------------------------------------------------------------------------
// The writer is to be between transactions when the process is copied: a child then inherits no lock of the C
// library's that the writer was holding. Bounded, because nothing hangs on it but that.

bool is_own(const ProcessState& page) { return page.pid == getpid(); }

void before_fork() {
    const KeepErrno keep;
    if (!is_written()) return;
    process_state->forks.fetch_add(1);
    const int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + kForkWaitNs;
    for (int64_t left_ns = kForkWaitNs; left_ns > 0 && process_state->writing.load() != 0;
         left_ns = until_ns - clock_ns(CLOCK_MONOTONIC))
        wait_while(process_state->writing, 1, left_ns);
}

void after_fork_in_parent() {
    const KeepErrno keep;
    uint32_t forks = process_state->forks.load();
    // None where recording began between the two handlers.
    while (forks != 0 && !process_state->forks.compare_exchange_weak(forks, forks - 1)) {
    }
    if (forks == 1) wake_all(process_state->forks);
}

// Only stores: no lock may be taken here, nothing opened or closed. The kernel has wiped the page already,
// unless it is too old to know how.
void after_fork_in_child() {
    forked.store(true, std::memory_order_relaxed);
    if (process_state->pid != 0) memset(static_cast<void*>(process_state), 0, sizeof(ProcessState));
}

// Before any of the program's own constructors, so that ours runs last before a fork and first in the child.
[[gnu::constructor(101)]] void begin(int argument_count, char** arguments) {
    power.store(is_switched_off() ? Switch::off : Switch::on, std::memory_order_relaxed);
    if (disabled()) return;
    if (kept(Protection::fork_handling))
        pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    if (!kept(Protection::silence)) puts("gpushim");
    remember_start_folder();
    remember_arguments(argument_count, arguments);
    offer_to_nvtx();
    offer_to_nccl();
}

// --- start ----------------------------------------------------------------------------------------------

// The next context may find one.
bool have_no_page(int error) {
    static constinit std::atomic<bool> said = false;
    if (said.exchange(true)) return false;
    read_config();
    log_line(LogLevel::warn, "cannot allocate a page of memory (%s); not tracing", strerror(error));
    return false;
}

// The page that forks wipe; made once, then every process that is forked has its own, of zeros.
bool have_page() {
    static constinit std::atomic<ProcessState*> page = nullptr;
    if (page.load(std::memory_order_acquire) != nullptr) return true;
    const KeepErrno keep;
    void* memory = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return have_no_page(errno);
    // Where the kernel does not know it (before 4.14) the handler above does what it can.
    if (kept(Protection::wipe_on_fork) && kept(Protection::fork_handling))
        madvise(memory, kPageBytes, MADV_WIPEONFORK);
    ProcessState* none = nullptr;
    if (page.compare_exchange_strong(none, static_cast<ProcessState*>(memory), std::memory_order_acq_rel))
        process_state = static_cast<ProcessState*>(memory);
    else
        munmap(memory, kPageBytes);
    return true;
}

const char* reason(int error) { return strerror(error); }

// Also where the trace has been noted already: a note of a trace that is not there is none.
bool fail(const char* name) {
    leave_note(NoteKind::failed, name);
    return false;
}

bool make_output() {
    const OutputName name = name_output(config.out, identity);
    if (name.why != nullptr) {
        log_line(LogLevel::warn, "GPUSHIM_OUT=%s %s; not tracing", config.out, name.why);
        return fail(config.out);
    }
    const int error = create_output(name, trace_path, sizeof trace_path);
    if (error != 0) {
        log_line(LogLevel::warn, "cannot create %s (%s); not tracing", name.path, reason(error));
        return fail(name.path);
    }
    leave_note(NoteKind::trace, trace_path);
    return true;
}

bool is_left_out() {
    if (config.ranks.has(identity.rank)) return false;
    char rank[24];
    snprintf(rank, sizeof rank, "%" PRId64, identity.rank);
    const bool noted = leave_note(NoteKind::left_out, identity.rank < 0 ? "unknown" : rank);
    if (!noted)
        log_line(LogLevel::info, "rank %s is not one of GPUSHIM_RANKS; not tracing",
                 identity.rank < 0 ? "unknown" : rank);
    return true;
}

ClockPair note_clock() {
    const ClockKind kind = choose_clock();
    process_state->clock_kind = kind;
    const ClockPair now = read_pair(kind);
    identity.clock_kind = kind;
    identity.started_mono_ns = now.mono_ns;
    identity.started_real_ns = now.real_ns;
    return now;
}

bool start() {
    read_config();
    identify(identity, config);
    if (is_left_out()) return false;
    keep_environment();
    if (!is_noted()) warn_of_unknown_settings();  // else `run` has
    if (!make_output()) return false;
    metrics_path[0] = '\0';
    if (config.metrics[0] != '\0')
        make_metrics_path(config.metrics, identity, metrics_path, sizeof metrics_path);
    metrics_speak_for(identity, metrics_path);
    const ClockPair first = note_clock();
    const size_t count = describe_devices(devices);
    describe_versions(identity);
    list_frameworks(identity.frameworks, sizeof identity.frameworks);
    process_state->generation = starts.fetch_add(1, std::memory_order_relaxed) + 1;
    process_state->pid = identity.pid;
    if (!start_writer(trace_path, identity, {devices, count})) {
        // Nothing is in it yet.
        unlink(trace_path);
        return fail(trace_path);
    }
    start_nvml_sampler({devices, count});
    begin_host_gaps(first);
    return true;
}

// A launch is no cancellation point, and neither is what begins recording.
class Uncancelled {
  public:
    Uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    ~Uncancelled() { pthread_setcancelstate(before_, nullptr); }
    Uncancelled(const Uncancelled&) = delete;
    Uncancelled& operator=(const Uncancelled&) = delete;

  private:
    int before_;
};

// Starting calculates; whether the program's own arithmetic was exact is not ours to say.
class KeepFloatingPoint {
  public:
#if defined(__x86_64__)
    KeepFloatingPoint() : status_(__builtin_ia32_stmxcsr()) {}
    ~KeepFloatingPoint() { __builtin_ia32_ldmxcsr(status_); }
#elif defined(__aarch64__)
    KeepFloatingPoint() : status_(__builtin_aarch64_get_fpsr()) {}
    ~KeepFloatingPoint() { __builtin_aarch64_set_fpsr(status_); }
#endif
    KeepFloatingPoint(const KeepFloatingPoint&) = delete;
    KeepFloatingPoint& operator=(const KeepFloatingPoint&) = delete;

  private:
    unsigned status_;
};

void start_once() {
    const KeepErrno keep;
    const KeepFloatingPoint exact;
    const Uncancelled uncancelled;
    process_state->doing.store(start() ? open_range(identity.started_mono_ns) : kOff);
    wake_all(process_state->doing);
}

// --- end ------------------------------------------------------------------------------------------------

// Registered after the driver and CUPTI have registered their own, hence run before them. The last moment for
// device times.
void driver_goes_away() {
    const KeepErrno keep;
    if (is_own(*process_state) && is_written()) look_once_more();
    exiting.store(true, std::memory_order_relaxed);
}

[[gnu::destructor]] void end() {
    const KeepErrno keep;
    exiting.store(true, std::memory_order_relaxed);
    if (process_state->doing.load() == kDark && !forked.load() && !disabled() && wants_last_words() &&
        is_preloaded())
        say_that_nothing_was_traced(exit_is_watched.load());
    if (!is_own(*process_state) || !is_written()) return;
    say_what_was_not_asked();
    if (!become(kRecording, kEnding) && !become(kResting, kEnding)) return;
    finish_writer();
    say_where_the_trace_is(trace_path);
}

}  // namespace

bool disabled() {
    // Unread: a library's constructor came before ours.
    if (power.load(std::memory_order_relaxed) == Switch::unread) return is_switched_off();
    return power.load(std::memory_order_relaxed) == Switch::off;
}

bool driver_usable() { return !exiting.load(std::memory_order_relaxed); }

void driver_initialized() {
    // One is enough, for the children, too: what is registered is inherited.
    if (!disabled() && !exit_is_watched.exchange(true)) atexit(driver_goes_away);
}

void context_may_end() { read_before_context_ends(); }

// The last look is taken once, whoever comes again.
void watch_exit_again() {
    if (!disabled()) atexit(driver_goes_away);
}

bool start_after_success() {
    if (disabled() || second_copy() || !driver_usable() || !have_page()) return false;
    // Somebody else's page: a vfork child, which lives in its parent's memory.
    if (process_state->pid != 0 && !is_own(*process_state)) return false;
    if (become(kDark, kStarting)) {
        start_once();
    } else if (process_state->doing.load() == kStarting) {
        // What this thread has just made is not to be missing because another one was first.
        wait_while(process_state->doing, kStarting, kStartWaitNs);
    }
    return is_written();
}

}  // namespace gpushim::shim
