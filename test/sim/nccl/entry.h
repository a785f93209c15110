// What happens around every exported call: it is counted, may be told to fail, costs time, and does nothing
// in a child that was forked after the first communicator was made. Any thread.
#pragma once

#include <nccl.h>

#include <cstddef>

#include "engine/clock.h"

namespace gpusim::nccl {

struct ExportRow {
    const char* name;
    bool exempt;
};

class Passage {
  public:
    Passage(size_t row, const void* frame);
    ~Passage();
    Passage(const Passage&) = delete;
    Passage& operator=(const Passage&) = delete;

    ncclResult_t refusal() const { return refusal_; }

  private:
    size_t row_;
    const void* outer_before_;
    Ns enter_ns_ = 0;
    bool outermost_;
    bool forked_;
    ncclResult_t refusal_ = ncclSuccess;
};

// From now on a fork makes another process, in which nothing works.
void bind_to_process();

template <class Signature, size_t kRow, auto kBody>
struct Boundary;

template <class Result, class... Arguments, size_t kRow, auto kBody>
struct Boundary<Result(Arguments...), kRow, kBody> {
    static Result call(Arguments... arguments) {
        const Passage passage(kRow, __builtin_frame_address(0));
        if constexpr (__is_same(Result, ncclResult_t))
            if (passage.refusal() != ncclSuccess) return passage.refusal();
        return kBody(arguments...);
    }
};

}  // namespace gpusim::nccl
