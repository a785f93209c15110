// Events that processes share: one records, another waits, in the box's common time.
#include "copy_forms.h"
#include "other_process.h"

namespace ipc_event_test {

namespace {

CUevent shared_event() { return make_event(CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING); }

CUevent open_event(const CUipcEventHandle& handle) {
    CUevent event = nullptr;
    CU(cuIpcOpenEventHandle(&event, handle));
    return event;
}

// Another process that records an event after a kernel of 100 us whenever it is told to, and tells at which
// virtual time it launched that kernel.
class Recorder {
  public:
    Recorder()
        : process_(
              [this] {
                  make_context();
                  const CUfunction busy = kernel("busy__100us");
                  CUevent event = shared_event();
                  CUipcEventHandle handle{};
                  CU(cuIpcGetEventHandle(&handle, event));
                  to_us_.send(handle);
                  for (;;) {
                      gpusim_advance_ns(to_it_.receive<uint64_t>());
                      to_us_.send(gpusim::clock::now());
                      CU(launch(busy));
                      CU(cuEventRecord(event, nullptr));
                      to_us_.send('r');
                  }
              },
              OtherProcess::Wait::no) {}
    CUipcEventHandle handle() { return to_us_.receive<CUipcEventHandle>(); }
    // Records after `ns` of work of the host; the time at which it did.
    int64_t record_after(uint64_t ns) {
        to_it_.send(ns);
        const auto launched = to_us_.receive<int64_t>();
        to_us_.receive<char>();
        return launched;
    }

  private:
    Channel to_us_, to_it_;
    OtherProcess process_;
};

}  // namespace

// recorder:  50 us of host work, then |busy 100 us|event
// here:      a stream and the host wait for that event
TEST_CASE("a stream waits for what another process recorded, to the nanosecond", "[ipc_event]") {
    Timeline timeline;
    Recorder recorder;
    make_context();
    CUevent event = open_event(recorder.handle());
    CU(cuEventQuery(event));  // never recorded: nothing to wait for
    for (int round = 0; round < 3; ++round) {
        const int64_t launched = recorder.record_after(200'000);
        const int64_t over = launched + 105'000 + 500;
        CUstream stream = make_stream();
        CU(cuStreamWaitEvent(stream, event, 0));
        CU(launch(kernel("next__10us"), stream));
        CU_IS(cuEventQuery(event), CUDA_ERROR_NOT_READY);
        CU(cuStreamSynchronize(stream));
        CHECK(timeline.all().back().start_ns == over);
        CU(cuEventQuery(event));
    }
    const int64_t launched = recorder.record_after(300'000);
    CU(cuEventSynchronize(event));
    CHECK(gpusim::clock::now() == launched + 105'500);
}

TEST_CASE("an event last recorded here is waited for as any other", "[ipc_event]") {
    Timeline timeline;
    make_context();
    CUevent event = shared_event();
    CUipcEventHandle handle{};
    CU(cuIpcGetEventHandle(&handle, event));
    timeline.start();
    CU(launch(kernel("busy__100us")));
    CU(cuEventRecord(event, nullptr));
    CU_IS(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    CU(cuEventSynchronize(event));
    CHECK(timeline.now() == 105'500);
}

TEST_CASE("a record by a process that died is over", "[ipc_event]") {
    Channel to_us;
    OtherProcess other([&] {
        make_context();
        CUevent event = shared_event();
        CUipcEventHandle handle{};
        CU(cuIpcGetEventHandle(&handle, event));
        CU(cuStreamWaitValue32_v2(nullptr, device_memory(64), 1, CU_STREAM_WAIT_VALUE_EQ));  // for ever
        CU(cuEventRecord(event, nullptr));
        to_us.send(handle);
    });
    make_context();
    CUevent event = open_event(to_us.receive<CUipcEventHandle>());
    CU_IS(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    other.kill_now();
    CU(cuEventSynchronize(event));
}

TEST_CASE("event handles that cannot be made or opened", "[ipc_event]") {
    make_context();
    CUipcEventHandle handle{};
    CUevent event = nullptr;
    CU_IS(cuEventCreate(&event, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuIpcGetEventHandle(&handle, make_event()), CUDA_ERROR_INVALID_HANDLE);
    CU_IS(cuIpcGetEventHandle(nullptr, shared_event()), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuIpcGetEventHandle(&handle, nullptr), CUDA_ERROR_INVALID_HANDLE);
    CU(cuIpcGetEventHandle(&handle, shared_event()));
    CU_IS(cuIpcOpenEventHandle(&event, handle), CUDA_ERROR_INVALID_CONTEXT);
    CU_IS(cuIpcOpenEventHandle(&event, CUipcEventHandle{}), CUDA_ERROR_INVALID_HANDLE);
}

}  // namespace ipc_event_test
