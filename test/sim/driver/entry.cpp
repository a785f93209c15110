#include "entry.h"

#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "call_lock.h"
#include "capture.h"
#include "engine/box_state.h"
#include "engine/box_thread.h"
#include "engine/call_faults.h"
#include "engine/hide_export.h"
#include "engine/knobs.h"
#include "engine/profile.h"
#include "engine/stack_use.h"
#include "engine/truth.h"
#include "objects.h"

namespace gpusim::driver {
namespace {

struct ThreadState {
    const void* self_call = nullptr;  // frame of the call that is calling the driver itself
    Ns enter_ns = 0;
    int64_t self_calls = 0;
    PerThread per_thread = PerThread::none;
};
thread_local ThreadState this_thread;

bool begins(std::string_view text, std::initializer_list<const char*> starts) {
    for (const char* start : starts)
        if (text.substr(0, std::string_view(start).size()) == start) return true;
    return false;
}

// What is fixed about an export for the life of the process.
struct Conduct {
    truth::Count* count = nullptr;
    Ns cost_ns = 0;
    InjectedFault injected;
    bool needs_init = true;
    bool works_in_faulted_context = false;
    bool unsafe_in_capture = false;
    bool means_current_context = true;  // by CUDA_ERROR_INVALID_CONTEXT
};

Ns cost_of(std::string_view base) {
    if (begins(base, {"cuLaunch", "cuMemcpy", "cuMemset", "cuGraphLaunch"})) return knobs().launch_ns;
    if (knobs().graph_ns != 0 && begins(base, {"cuGraphInstantiate", "cuGraphExec"})) return knobs().graph_ns;
    return begins(base, {"cuEventRecord"}) ? knobs().event_ns : knobs().call_ns;
}

Conduct conduct_of(const ExportRow& row) {
    const std::string_view base = row.base;
    Conduct c;
    c.count = truth::count(row.name);
    c.cost_ns = cost_of(base);
    c.injected = injected_fault(row.name);
    c.needs_init =
        !begins(base, {"cuInit", "cuDriverGetVersion", "cuGetError", "cuGetProcAddress", "cuGetExportTable"});
    c.works_in_faulted_context =
        !c.needs_init || begins(base, {"cuCtxCreate", "cuCtxDestroy", "cuCtxSetCurrent", "cuCtxGetCurrent",
                                       "cuCtxPushCurrent", "cuCtxPopCurrent", "cuCtxGetDevice", "cuDevice"});
    c.unsafe_in_capture = capture::is_unsafe(row.base);
    c.means_current_context = !begins(base, {"cuCtxDestroy", "cuCtxDetach", "cuCtxSetCurrent",
                                             "cuCtxPushCurrent", "cuCtxPopCurrent", "cuDevice"});
    return c;
}

const Conduct& conduct(size_t index) {
    static const Conduct* const all = [] {
        auto* made = new Conduct[kExports];
        for (size_t i = 0; i < kExports; ++i) made[i] = conduct_of(export_rows[i]);
        return made;
    }();
    return all[index];
}

uint64_t add_one(uint64_t& counter) {
    return std::atomic_ref(counter).fetch_add(1, std::memory_order_relaxed) + 1;
}

// Zero after a fork of any kind, also one that runs no handlers.
std::atomic<int>* make_alive_page() {
    void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(page, 4096, MADV_WIPEONFORK);
    return new (page) std::atomic<int>(0);
}

struct Life {
    std::atomic<int>* here = make_alive_page();  // 1 in the process that called cuInit
    std::atomic<bool> initialized{false};
    std::atomic<bool> torn_down{false};
};

Life& the_life() {
    static Life* const made = new Life;
    return *made;
}

void tear_down_at_exit() {
    std::atexit([] { the_life().torn_down = true; });
}

// A driver's worker threads call the driver, too: through exported names, as outermost calls.
void call_now_and_then() {
    WakeWord never;
    while (!life::torn_down()) {
        int version = 0;
        CUcontext current = nullptr;
        ::cuDriverGetVersion(&version);
        ::cuCtxGetCurrent(&current);
        never.wait(never.value(), 1'000'000);
    }
}

__attribute__((constructor)) void take_away_missing_names() {
    for (const ExportRow& row : export_rows)
        if (!is_there(row)) hide_export(reinterpret_cast<const void*>(&export_rows), row.name);
}

}  // namespace

Passage::Passage(size_t index, const void* frame)
    : index_(index),
      frame_(frame),
      self_call_before_(this_thread.self_call),
      per_thread_before_(this_thread.per_thread),
      enter_before_ns_(this_thread.enter_ns),
      // The stack grows down: a call from above the frame that calls itself means that that one was
      // abandoned.
      outermost_(self_call_before_ == nullptr || frame >= self_call_before_) {
    if (life::forked()) {  // not of the process whose counts and truth these are
        result_ = CUDA_ERROR_NOT_INITIALIZED;
        return;
    }
    ThreadState& t = this_thread;
    t.per_thread = export_rows[index].per_thread;
    const uint64_t nth = add_one(outermost_ ? conduct(index).count->entered : conduct(index).count->nested);
    if (outermost_) {
        use_stack();
        t.self_call = nullptr;
        t.self_calls = 0;
        t.enter_ns = clock::now();
        truth::begin_call(t.enter_ns);
        profile::enter_call(export_rows[index].name);
        // What the call does, it does from then on.
        if (!conduct(index).works_in_faulted_context) t.enter_ns = pass_lock(t.enter_ns);
    }
    enter_ns_ = t.enter_ns;
    result_ = refusal(nth);
}

CUresult Passage::refusal(uint64_t nth) const {
    if (life::torn_down()) return CUDA_ERROR_DEINITIALIZED;
    const Conduct& c = conduct(index_);
    if (outermost_ && c.injected.due(nth)) return static_cast<CUresult>(c.injected.error);
    if (c.needs_init && !life::initialized()) return CUDA_ERROR_NOT_INITIALIZED;
    if (!outermost_) return CUDA_SUCCESS;
    const CUresult fault = c.works_in_faulted_context ? CUDA_SUCCESS : current_fault();
    if (fault != CUDA_SUCCESS || !c.unsafe_in_capture) return fault;
    return capture::forbids_unsafe_call();
}

bool Passage::calls_itself() {
    if (this_thread.self_calls >= knobs().self_calls) return false;
    ++this_thread.self_calls;
    this_thread.self_call = frame_;
    return true;
}

CUresult Passage::leave(CUresult result) {
    left_ = true;
    if (life::forked()) return result;
    if (result == CUDA_ERROR_INVALID_CONTEXT && conduct(index_).means_current_context)
        result = current_context_error();
    if (!outermost_) return result;
    clock::work_until(enter_ns_ + conduct(index_).cost_ns);
    const Ns exit_ns = clock::now();
    if (clock::stepped() && life::initialized() && !clock::beside_program())
        box::mine().now_ns.store(exit_ns, std::memory_order_relaxed);
    truth::end_call(exit_ns);
    profile::leave_call(export_rows[index_].name);
    add_one(conduct(index_).count->returned);
    return result;
}

Passage::~Passage() {
    if (!left_ && outermost_) {
        truth::end_call(clock::now());
        profile::leave_call(export_rows[index_].name);
    }
    this_thread.self_call = self_call_before_;
    this_thread.per_thread = per_thread_before_;
    this_thread.enter_ns = enter_before_ns_;
}

namespace call {
Ns enter_ns() { return this_thread.enter_ns; }
bool default_is_per_thread() { return this_thread.per_thread != PerThread::none; }
}  // namespace call

namespace life {

bool initialized() { return the_life().initialized.load(std::memory_order_acquire); }
bool torn_down() { return the_life().torn_down.load(std::memory_order_relaxed); }
bool forked() { return initialized() && the_life().here->load(std::memory_order_relaxed) == 0; }

void initialize() {
    static const bool once = [] {
        the_life().here->store(1);
        clock::origin();
        box::mine();
        the_life().initialized.store(true, std::memory_order_release);
        if (knobs().exit_order == "last") tear_down_at_exit();
        for (int64_t i = 0; i < knobs().callback_threads; ++i)
            start_box_thread("gpusim-worker", call_now_and_then);
        return true;
    }();
    (void)once;
}

void operation_issued() {
    static const bool once = [] {
        if (knobs().exit_order == "first") tear_down_at_exit();
        return true;
    }();
    (void)once;
}

}  // namespace life

bool is_there(const ExportRow& row) {
    if (row.version > knobs().version) return false;
    if (knobs().missing.empty()) return true;
    const std::string listed = "," + knobs().missing + ",";
    return listed.find("," + std::string(row.name) + ",") == std::string::npos;
}

}  // namespace gpusim::driver
