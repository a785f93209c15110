// Everything beside everything else, in an order that only chance has made.
#include <array>
#include <vector>

#include "work.h"

using namespace accuracy;

namespace {

constexpr size_t kStreams = 6;
constexpr size_t kMegabyte = 1 << 20;
constexpr std::array<int64_t, 8> kKernelsUs = {5, 7, 10, 20, 50, 100, 200, 400};

// A program that does one of these things after the other, as a seed says: also how much it pauses, so that
// some keep the device busy and others do not.
class Schedule {
  public:
    explicit Schedule(uint64_t seed) : chance_(seed), longest_pause_us_(chance_.between(20, 2'000)) {
        for (CUstream& stream : streams_) stream = make_stream();
        for (CUevent& event : events_) event = make_event();
    }
    void next() {
        const int64_t dice = chance_.between(0, 99);
        if (dice < 55) return kernels();
        if (dice < 63) return copy();
        if (dice < 67) return pageable_copy();
        if (dice < 77) return wait_for_another();
        if (dice < 85) return host_waits();
        if (dice < 93) return work(pause_ns());
        block(pause_ns());
    }

  private:
    size_t any() { return static_cast<size_t>(chance_.between(0, kStreams - 1)); }
    size_t bytes() { return static_cast<size_t>(chance_.between(4, 512)) * 1024; }

    int64_t pause_ns() { return chance_.between(5, longest_pause_us_) * kMicrosecond; }

    void kernels() {
        const CUstream stream = streams_[any()];
        for (int64_t left = chance_.between(1, 3); left > 0; --left)
            launch(kernel(kKernelsUs[static_cast<size_t>(chance_.between(0, 7))] * kMicrosecond), stream);
    }
    void copy() {
        const bool in = chance_.between(0, 1) != 0;
        const CUstream stream = streams_[any()];
        CU(in ? cuMemcpyHtoDAsync(memory_, pinned_, bytes(), stream)
              : cuMemcpyDtoHAsync(pinned_, memory_, bytes(), stream));
    }
    void pageable_copy() {
        const bool in = chance_.between(0, 1) != 0;
        const CUstream stream = streams_[any()];
        CU(in ? cuMemcpyHtoDAsync(memory_, pageable_.data(), bytes(), stream)
              : cuMemcpyDtoHAsync(pageable_.data(), memory_, bytes(), stream));
    }
    void wait_for_another() {
        const size_t from = any(), to = any();
        CU(cuEventRecord(events_[from], streams_[from]));
        CU(cuStreamWaitEvent(streams_[to], events_[from], 0));
    }
    void host_waits() {
        const int64_t dice = chance_.between(0, 9);
        if (dice == 0) return CU(cuCtxSynchronize());
        const size_t one = any();
        if (dice < 6) return CU(cuStreamSynchronize(streams_[one]));
        CU(cuEventRecord(events_[one], streams_[one]));
        CU(cuEventSynchronize(events_[one]));
    }

    Chance chance_;
    int64_t longest_pause_us_;
    std::array<CUstream, kStreams> streams_;
    std::array<CUevent, kStreams> events_;
    CUdeviceptr memory_ = device_memory(kMegabyte);
    void* pinned_ = pinned_memory(kMegabyte);
    std::vector<char> pageable_ = std::vector<char>(kMegabyte);
};

}  // namespace

WORKLOAD(mixed, 1, 1'000,
         "six streams, kernels of 5 to 400 us, copies, waits of streams and of the host, all by chance") {
    Schedule schedule(run.seed);
    for (int64_t i = 0; i < 10 * run.steps; ++i) schedule.next();
    launch(kernel(5 * kMicrosecond));  // the truth ends with an operation
    CU(cuCtxSynchronize());
}
