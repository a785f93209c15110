#include "entry.h"

#include <sys/mman.h>

#include <atomic>
#include <iterator>

#include "engine/box_state.h"
#include "engine/call_faults.h"
#include "engine/knobs.h"
#include "engine/truth.h"

namespace gpusim::nccl {
namespace {

constexpr ExportRow kExports[] = {
#define NCCL_EXPORT(name, function) {#name, false},
#define NCCL_EXPORT_EXEMPT(name, function) {#name, true},
#include "exports.def"
#undef NCCL_EXPORT
#undef NCCL_EXPORT_EXEMPT
};

struct Conduct {
    truth::Count* count = nullptr;
    InjectedFault injected;
};

const Conduct& conduct(size_t row) {
    static const Conduct* const all = [] {
        auto* made = new Conduct[std::size(kExports)];
        for (size_t i = 0; i < std::size(kExports); ++i)
            made[i] = {truth::count(kExports[i].name), injected_fault(kExports[i].name)};
        return made;
    }();
    return all[row];
}

thread_local const void* outermost_frame = nullptr;  // frames below it are nested calls

uint64_t add_one(uint64_t& counter) {
    return std::atomic_ref(counter).fetch_add(1, std::memory_order_relaxed) + 1;
}

// Zero after a fork of any kind, also one that runs no handlers.
std::atomic<int>& at_home() {
    static auto* const page = [] {
        void* at = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(at, 4096, MADV_WIPEONFORK);
        return new (at) std::atomic<int>(0);
    }();
    return *page;
}

std::atomic<bool> bound{false};

bool is_forked() {
    return bound.load(std::memory_order_acquire) && at_home().load(std::memory_order_relaxed) == 0;
}

}  // namespace

void bind_to_process() {
    at_home().store(1);
    bound.store(true, std::memory_order_release);
}

Passage::Passage(size_t row, const void* frame)
    : row_(row), outer_before_(outermost_frame), forked_(is_forked()) {
    // The stack grows down: a call at or above the last outermost one means that that one was abandoned.
    outermost_ = outer_before_ == nullptr || frame >= outer_before_;
    if (outermost_) outermost_frame = frame;
    if (forked_) {
        if (!kExports[row].exempt) refusal_ = ncclUnhandledCudaError;
        return;
    }
    truth::Count& count = *conduct(row).count;
    if (!outermost_) {
        add_one(count.nested);
        return;
    }
    enter_ns_ = clock::now();
    const uint64_t nth = add_one(count.entered);
    const InjectedFault& injected = conduct(row).injected;
    if (!kExports[row].exempt && injected.due(nth)) refusal_ = static_cast<ncclResult_t>(injected.error);
}

Passage::~Passage() {
    outermost_frame = outermost_ ? nullptr : outer_before_;
    if (!outermost_ || forked_) return;
    clock::work_until(enter_ns_ + knobs().call_ns);
    if (clock::stepped()) box::mine().now_ns.store(clock::now(), std::memory_order_relaxed);
    add_one(conduct(row_).count->returned);
}

}  // namespace gpusim::nccl
