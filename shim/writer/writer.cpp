#include "writer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "../alarm/hang_alarm.h"
#include "../base/descriptors.h"
#include "../base/log.h"
#include "../base/own_thread.h"
#include "../base/protection.h"
#include "../base/system.h"
#include "../base/time_units.h"
#include "../harvest/driver_thread.h"
#include "../harvest/time_source.h"
#include "../machine/identity.h"
#include "../machine/nvml_sampler.h"
#include "../ring/test_clock.h"
#include "../timing/hardware_queues.h"
#include "writer_folder.h"
#include "writer_loop.h"

namespace gpushim::shim {
namespace {

constexpr int64_t kEndNs = 2'000 * kMillisecond;
constexpr int64_t kStandstillNs = 250 * kMillisecond;
constexpr int64_t kReadNs = 100 * kMillisecond;
constexpr int64_t kSteppedNs = 60'000 * kMillisecond;

enum class Stage : uint32_t { starting, failed, running, paused, finished };

// One per process: the next start, in a child, uses it again.
constinit WriterStart writer_start = {};
constinit std::atomic<Stage> stage = Stage::starting;
constinit WriterLoop* paused_loop = nullptr;

void reach(Stage reached) {
    stage.store(reached);
    show_progress();
}

// --- the thread -----------------------------------------------------------------------------------------

std::unique_ptr<Store> make_store() {
    process_state->writing.store(1);
    std::unique_ptr<Store> store(
        Store::make(writer_start.trace_path, *writer_start.identity, writer_start.devices));
    process_state->writing.store(0);
    return store;
}

void turn_off() {
    if (!become(kRecording, kOff)) become(kResting, kOff);
}

// Nothing more is written. Rings that outlive the process take what they can hold, for recovery, and count
// what they cannot, with the reason; others would only cost time.
void give_up() {
    process_state->timing.store(0);
    process_state->writing.store(0);  // an exception may have come from within a transaction
    process_state->not_emptied.store(static_cast<uint32_t>(Drop::writer_down));
    if (!writer_start.identity->rings_survive) turn_off();
    pass_is_done(kNoMorePasses);
    reach(Stage::failed);
}

void complain_of_memory() {
    log_line(LogLevel::warn, "out of memory for %s; not tracing", writer_start.trace_path);
}

// Null: there is none, which has been said.
WriterLoop* make_loop(WriterFolder& folder) {
    try {
        make_rings(folder, *writer_start.identity, writer_start.trace_path);
        if (std::unique_ptr<Store> store = make_store(); store != nullptr)
            // On the heap: it is large, and nothing destroys it while threads may still look.
            return new WriterLoop(writer_start, std::move(store), folder);
        log_line(LogLevel::warn, "cannot write %s (%s); not tracing", writer_start.trace_path,
                 Store::failure());
    } catch (const std::bad_alloc&) {
        complain_of_memory();
    }
    return nullptr;
}

void write_until_the_end() {
    WriterFolder folder;
    WriterLoop* loop = make_loop(folder);
    if (loop == nullptr) {
        turn_off();  // where the program has not waited
        remove_folder(folder, *writer_start.identity);
        close_folder(folder);
        return reach(Stage::failed);
    }
    loop->make_space();
    reach(Stage::running);
    switch (loop->run()) {
        case Ended::finished:
            return reach(Stage::finished);
        case Ended::lost:
            return give_up();
        case Ended::alone:
            paused_loop = loop;
            return reach(Stage::paused);
    }
}

constexpr size_t kMemoryParts = 3, kMemoryPartBytes = 120 << 10;  // each below what the allocator maps apart
constexpr size_t kTouchedParts = 2;                               // by the shortest trace, too
constexpr uintptr_t kPageBytes = 4096;

void* volatile behind_parts;  // stays: the allocator gives back what is free at the end, by some system calls

// Each page would be a fault of its own. An older kernel has those faults.
void touch(void* part) {
    const uintptr_t from =
        reinterpret_cast<uintptr_t>(part) & ~(kPageBytes - 1);  // its head is touched anyway
    if (part != nullptr) madvise(reinterpret_cast<void*>(from), kMemoryPartBytes, MADV_POPULATE_WRITE);
}

// As much as a trace's beginning needs: the allocator would enlarge what this thread has page by page, with a
// system call for each.
void take_memory_at_once() {
    void* volatile parts[kMemoryParts];
    for (auto& part : parts) part = malloc(kMemoryPartBytes);
    if (behind_parts == nullptr) behind_parts = malloc(1);
    for (size_t i = 0; i < kTouchedParts; ++i) touch(parts[i]);
    for (auto& part : parts) free(part);
}

void main_of_writer(void*) {
    be_the_writer();
    take_memory_at_once();
    try {
        if (paused_loop == nullptr && wants_device_times()) start_driver_thread();
        leave_descriptors();
        if (paused_loop == nullptr) {
            write_until_the_end();
        } else {
            std::exchange(paused_loop, nullptr)->resume();
            reach(Stage::finished);
        }
    } catch (...) {
        // Before the line: whoever waits for the start takes the trace away.
        give_up();
        complain_of_memory();
    }
    // Nobody asks it any more, and it would keep a process whose own threads have ended.
    stop_nvml_sampler();
    stop_driver_thread();
}

void wake_writer() {
    process_state->awake.store(1);
    wake_all(process_state->awake);
}

// While `waits()`, at most so long, and so long while nothing moves and no thread of ours is only short of a
// processor. On the test clock it is no accident of the machine what is written: there a slow disk is waited
// for, too. False: it still does.
template <class Condition>
bool wait_for_writer(Condition waits, int64_t most_ns, int64_t standstill_ns) {
    const bool is_stepped = process_state->clock_kind == kTestClock;
    const auto works = is_stepped ? another_own_thread_is_at_work : another_own_thread_is_runnable;
    const int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + (is_stepped ? kSteppedNs : most_ns);
    int64_t moved_ns = clock_ns(CLOCK_MONOTONIC);
    uint32_t progress = process_state->progress.load();
    while (waits()) {
        const int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
        const bool has_moved = process_state->progress.load() != progress;
        const bool stands = !has_moved && now_ns - moved_ns >= standstill_ns;
        if (has_moved || (stands && works())) moved_ns = now_ns;
        progress = process_state->progress.load();
        const bool too_long = now_ns >= until_ns || now_ns - moved_ns >= standstill_ns;
        if (kept(Protection::bounded_exit) && too_long) return false;
        wait_while(process_state->progress, progress, std::min(until_ns, moved_ns + standstill_ns) - now_ns);
    }
    return true;
}

}  // namespace

bool start_writer(const char* trace_path, TraceIdentity& identity, std::span<const Device> devices) {
    writer_start = {trace_path, &identity, devices};
    alarm_speaks_for(identity, trace_path);
    find_hardware_queues(identity.variables);
    stage.store(Stage::starting);
    const int error = start_own_thread({"gpushim", main_of_writer});
    if (error != 0) {
        log_line(LogLevel::warn, "cannot start a thread (%s); not tracing", strerror(error));
        return false;
    }
    // A disk that takes longer than this to make a file: the program goes on, and the rings hold what
    // happens.
    wait_for_writer([] { return stage.load() == Stage::starting; }, kEndNs, kEndNs);
    return stage.load() != Stage::failed;
}

void look_once_more() {
    if (stage.load() != Stage::running) return;
    const uint32_t before = process_state->last_look.exchange(kLookWanted);
    if (before == kLookWanted || before == kLooked) return;
    wake_writer();
    const auto looks = [] {
        return stage.load() == Stage::running && process_state->last_look.load() == kLookWanted;
    };
    wait_for_writer(looks, kEndNs, kStandstillNs);
}

void read_before_context_ends() {
    uint32_t state = kLookNotYet;
    if (stage.load() != Stage::running ||
        !process_state->last_look.compare_exchange_strong(state, kReadWanted))
        return;
    const KeepErrno keep;
    wake_writer();
    const auto reads = [] {
        return stage.load() == Stage::running && process_state->last_look.load() == kReadWanted;
    };
    const int64_t most_ns = process_state->clock_kind == kTestClock ? kEndNs : kReadNs;
    wait_for_writer(reads, most_ns, most_ns);
    state = kReadWanted;
    process_state->last_look.compare_exchange_strong(state, kLookNotYet);
}

void finish_writer() {
    if (stage.load() == Stage::paused) {
        stage.store(Stage::running);
        if (start_own_thread({"gpushim", main_of_writer}) != 0) return;
    }
    wake_writer();
    wait_for_writer([] { return stage.load() == Stage::running; }, kEndNs, kStandstillNs);
}

}  // namespace gpushim::shim
