// Work on streams runs in order, events say so, and waits do what they say. On the stepped clock: times are
// exact enough for bounds. A kernel takes what its name says.
#include <cstring>

#include "check.h"

#define IMAGE_CODE                                    \
    ".version 8.0\n.target sm_90\n.address_size 64\n" \
    ".visible .entry first__2000us() { ret; }\n.visible .entry second__3000us() { ret; }\n"
#include "image.h"

KERNEL(first__2000us)
KERNEL(second__3000us)

namespace {

void launch(const void* kernel, cudaStream_t stream) {
    OK(cudaLaunchKernel(kernel, dim3(4), dim3(32), nullptr, 0, stream));
}

cudaEvent_t event() {
    cudaEvent_t made = nullptr;
    OK(cudaEventCreate(&made));
    return made;
}

float milliseconds(cudaEvent_t from, cudaEvent_t to) {
    float elapsed = 0;
    OK(cudaEventElapsedTime(&elapsed, from, to));
    return elapsed;
}

//  stream   |--- first 2 ms ---|------ second 3 ms ------|
//         before            between                    after
void events_stand_in_order() {
    cudaStream_t stream = nullptr;
    OK(cudaStreamCreate(&stream));
    const cudaEvent_t before = event(), between = event(), after = event();
    OK(cudaEventQuery(before));
    OK(cudaEventRecord(before, stream));
    launch(&first__2000us, stream);
    OK(cudaEventRecord(between, stream));
    launch(&second__3000us, stream);
    OK(cudaEventRecord(after, stream));
    IS(cudaErrorNotReady, cudaEventQuery(after));
    IS(cudaErrorNotReady, cudaStreamQuery(stream));
    OK(cudaEventSynchronize(after));
    OK(cudaEventQuery(after));
    OK(cudaStreamQuery(stream));
    CHECK(milliseconds(before, between) >= 2 && milliseconds(before, between) < 2.5F);
    CHECK(milliseconds(between, after) >= 3 && milliseconds(between, after) < 3.5F);
    OK(cudaStreamDestroy(stream));
}

//  one      |--- first 2 ms ---|
//  other                       |------ second 3 ms ------|
void a_stream_waits_for_an_event_of_another() {
    cudaStream_t one = nullptr, other = nullptr;
    OK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    const cudaEvent_t start = event(), arrived = event(), end = event();
    OK(cudaEventRecord(start, one));
    launch(&first__2000us, one);
    OK(cudaEventRecord(arrived, one));
    OK(cudaStreamWaitEvent(other, arrived, 0));
    launch(&second__3000us, other);
    OK(cudaEventRecord(end, other));
    OK(cudaDeviceSynchronize());
    CHECK(milliseconds(start, end) >= 5);
    OK(cudaStreamDestroy(one));
    OK(cudaStreamDestroy(other));
}

//  one      |--- first 2 ms ---|
//  other    |------ second 3 ms ------|
void streams_run_beside_each_other() {
    cudaStream_t one = nullptr, other = nullptr;
    OK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    const cudaEvent_t start = event(), end = event();
    OK(cudaEventRecord(start, one));
    launch(&first__2000us, one);
    launch(&second__3000us, other);
    OK(cudaEventRecord(end, other));
    OK(cudaDeviceSynchronize());
    CHECK(milliseconds(start, end) < 4);
    OK(cudaStreamDestroy(one));
    OK(cudaStreamDestroy(other));
}

// What stream 0 is: the barrier of the legacy stream, or a stream like any other of this thread.
void the_default_stream() {
    cudaStream_t blocking = nullptr;
    OK(cudaStreamCreate(&blocking));
    const cudaEvent_t start = event(), end = event();
    OK(cudaEventRecord(start, blocking));
    launch(&first__2000us, blocking);
    launch(&second__3000us, nullptr);
    OK(cudaEventRecord(end, nullptr));
    OK(cudaDeviceSynchronize());
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
    CHECK(milliseconds(start, end) < 4);
#else
    CHECK(milliseconds(start, end) >= 5);
#endif
    OK(cudaStreamDestroy(blocking));
}

void what_a_stream_is_made_with() {
    int least = 0, greatest = 0, priority = 1;
    unsigned flags = 0;
    unsigned long long id = 0, other_id = 0;
    cudaStream_t stream = nullptr;
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CHECK(greatest < least);
    OK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
    OK(cudaStreamGetPriority(stream, &priority));
    CHECK(priority == greatest);
    OK(cudaStreamGetFlags(stream, &flags));
    CHECK(flags == cudaStreamNonBlocking);
    OK(cudaStreamDestroy(stream));
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamGetFlags(stream, &flags));
    CHECK(flags == cudaStreamNonBlocking);
    OK(cudaStreamGetId(stream, &id));
    OK(cudaStreamGetId(cudaStreamLegacy, &other_id));
    CHECK(id != other_id);
    OK(cudaStreamDestroy(stream));
}

int order = 0, host_function_was = 0, callback_was = 0;
cudaError_t callback_status = cudaErrorUnknown;

void host_functions_come_in_order() {
    cudaStream_t stream = nullptr;
    OK(cudaStreamCreate(&stream));
    launch(&first__2000us, stream);
    OK(cudaLaunchHostFunc(
        stream, [](void* where) { *static_cast<int*>(where) = ++order; }, &host_function_was));
    const auto callback = [](cudaStream_t, cudaError_t status, void* where) {
        *static_cast<int*>(where) = ++order;
        callback_status = status;
    };
    OK(cudaStreamAddCallback(stream, callback, &callback_was, 0));
    OK(cudaStreamSynchronize(stream));
    CHECK(host_function_was == 1 && callback_was == 2);
    CHECK(callback_status == cudaSuccess);
    OK(cudaStreamDestroy(stream));
}

void an_event_without_time() {
    cudaEvent_t quick = nullptr;
    float elapsed = 0;
    OK(cudaEventCreateWithFlags(&quick, cudaEventDisableTiming));
    OK(cudaEventRecord(quick, nullptr));
    OK(cudaEventSynchronize(quick));
    IS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&elapsed, quick, quick));
    OK(cudaEventDestroy(quick));
}

}  // namespace

int main() {
    events_stand_in_order();
    a_stream_waits_for_an_event_of_another();
    streams_run_beside_each_other();
    the_default_stream();
    what_a_stream_is_made_with();
    host_functions_come_in_order();
    an_event_without_time();
}
