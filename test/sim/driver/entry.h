// What happens around every exported call: it is counted, may be told to fail, may first call itself through
// its exported name, costs time, and belongs to the truth of the operations it issues. Any thread, no lock
// held across the call; a call left by an exception, longjmp or cancellation leaves nothing behind that the
// next one minds.
#pragma once

#include <cstddef>
#include <string_view>

#include "api.h"
#include "engine/clock.h"

namespace gpusim::driver {

enum class PerThread { none, ptds, ptsz };

struct ExportRow {
    const char* name;
    const char* base;
    int version;
    PerThread per_thread;
    const void* address;  // as dlsym on this library gives it
};
constexpr size_t kExports = 0
#define EXPORT(export, implementation, base, version, per_thread) +1
#include "exports.def"
#undef EXPORT
    ;
extern const ExportRow export_rows[kExports];

// One call's way through an exported name.
class Passage {
  public:
    Passage(size_t index, const void* frame);
    ~Passage();
    Passage(const Passage&) = delete;
    Passage& operator=(const Passage&) = delete;

    // Not to be carried out: the answer is `result` (an injected error, no cuInit yet, a context's sticky
    // error, …).
    bool refused() const { return result_ != CUDA_SUCCESS; }
    CUresult result() const { return result_; }
    // The driver calls itself once more (GPUSIM_SELF_CALLS).
    bool calls_itself();
    CUresult leave(CUresult result);

  private:
    CUresult refusal(uint64_t nth) const;

    size_t index_;
    const void* frame_;
    // What the thread was in the middle of, for when this call is over.
    const void* self_call_before_;
    PerThread per_thread_before_;
    Ns enter_before_ns_;

    Ns enter_ns_ = 0;
    bool outermost_;
    bool left_ = false;
    CUresult result_ = CUDA_SUCCESS;
};

namespace call {
Ns enter_ns();                 // when the thread's outermost call was entered
bool default_is_per_thread();  // stream 0 of the innermost call: per-thread (_ptds, _ptsz) or legacy
}  // namespace call

// The process's life: cuInit has succeeded; exit has begun and the driver is down; a fork has made this
// another process, in which the driver does not work.
namespace life {
bool initialized();
void initialize();
bool torn_down();
bool forked();
void operation_issued();  // GPUSIM_EXIT=first registers its exit handler only now, so that it runs before
                          // others'
}  // namespace life

bool is_there(const ExportRow& row);  // by GPUSIM_MISSING and GPUSIM_VERSION

}  // namespace gpusim::driver
