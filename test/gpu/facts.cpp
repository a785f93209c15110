// What this GPU and its driver do where a model of them has to know it, one question each time: it may crash
// or hang. Prints one JSON object.
//
//   facts clock|chain|programmatic|calls|name|queues|create|anchors|load
#include <cuda.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include "spin.h"

namespace {

constexpr const char* kPtx = PTX_HEAD PTX_EMPTY("empty__1us") PTX_SPIN("busy__20us", "20000");

// Lets what follows begin at once, and takes as long all the same.
constexpr const char* kProgrammaticPtx = ".version 7.8\n.target sm_90\n.address_size 64\n" PTX_SPIN_AROUND(
    "early__20us", "20000", "    griddepcontrol.launch_dependents;\n", "    griddepcontrol.wait;\n");

constexpr int kRounds = 5;

int64_t now_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

void need(CUresult result, const char* what) {
    if (result == CUDA_SUCCESS) return;
    std::printf("{\"refused\": \"%s: %d\"}\n", what, result);
    std::exit(0);
}
#define NEED(call) need(call, #call)

double between_ns(CUevent from, CUevent until) {
    float ms = 0;
    NEED(cuEventElapsedTime(&ms, from, until));
    return ms * 1e6;
}

CUevent made_event() {
    CUevent event = nullptr;
    NEED(cuEventCreate(&event, CU_EVENT_DEFAULT));
    return event;
}

CUstream made_stream() {
    CUstream stream = nullptr;
    NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

CUfunction kernel(const char* ptx, const char* name) {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    NEED(cuModuleLoadData(&module, ptx));
    NEED(cuModuleGetFunction(&function, module, name));
    return function;
}

void launch(CUfunction function, CUstream stream) {
    NEED(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr));
}

int64_t at(std::vector<int64_t> sorted, double share) {
    std::sort(sorted.begin(), sorted.end());
    return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
}

// The smallest step of stamps that follow each other at once, and what recording one takes.
void clock_grain() {
    constexpr size_t kEvents = 1000;
    const CUstream stream = made_stream();
    std::vector<CUevent> events(kEvents);
    for (CUevent& event : events) event = made_event();
    launch(kernel(kPtx, "busy__20us"), stream);
    const int64_t begin_ns = now_ns();
    for (CUevent event : events) NEED(cuEventRecord(event, stream));
    const int64_t record_ns = (now_ns() - begin_ns) / static_cast<int64_t>(kEvents);
    NEED(cuStreamSynchronize(stream));
    std::vector<int64_t> steps;
    int64_t equal = 0;
    for (size_t i = 1; i < kEvents; ++i) {
        const auto step = static_cast<int64_t>(between_ns(events[i - 1], events[i]) + 0.5);
        step > 0 ? steps.push_back(step) : static_cast<void>(++equal);
    }
    if (steps.empty()) steps.push_back(0);
    std::printf("{\"record_ns\": %lld, \"least_step_ns\": %lld, \"median_step_ns\": %lld, \"equal\": %lld}\n",
                static_cast<long long>(record_ns), static_cast<long long>(at(steps, 0)),
                static_cast<long long>(at(steps, 0.5)), static_cast<long long>(equal));
}

// ns from one launch to the next of a chain with so many events after each, the best of some rounds.
template <class Launch>
double chained_ns(CUstream stream, int events_between, const Launch& one) {
    constexpr int kChain = 200;
    const CUevent begin = made_event(), end = made_event(), between = made_event();
    double best_ns = 1e18;
    for (int round = 0; round < kRounds; ++round) {
        NEED(cuEventRecord(begin, stream));
        for (int i = 0; i < kChain; ++i) {
            one();
            for (int n = 0; n < events_between; ++n) NEED(cuEventRecord(between, stream));
        }
        NEED(cuEventRecord(end, stream));
        NEED(cuStreamSynchronize(stream));
        best_ns = std::min(best_ns, between_ns(begin, end) / kChain);
    }
    return best_ns;
}

void chain() {
    const CUstream stream = made_stream();
    const CUfunction empty = kernel(kPtx, "empty__1us"), busy = kernel(kPtx, "busy__20us");
    const auto of = [&](CUfunction function, int events) {
        return chained_ns(stream, events, [&] { launch(function, stream); });
    };
    std::printf("{\"empty_ns\": [%.0f, %.0f, %.0f], \"busy_20us_ns\": [%.0f, %.0f, %.0f]}\n", of(empty, 0),
                of(empty, 1), of(empty, 2), of(busy, 0), of(busy, 1), of(busy, 2));
}

void programmatic() {
    const CUstream stream = made_stream();
    const CUfunction early = kernel(kProgrammaticPtx, "early__20us");
    CUlaunchAttribute attribute = {};
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    CUlaunchConfig config = {};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = 32;
    config.blockDimY = config.blockDimZ = 1;
    config.hStream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    const auto one = [&] { NEED(cuLaunchKernelEx(&config, early, nullptr, nullptr)); };
    std::printf("{\"ns\": %.0f, \"with_an_event_between_ns\": %.0f}\n", chained_ns(stream, 0, one),
                chained_ns(stream, 1, one));
}

template <class Call>
int64_t each_ns(const Call& call) {
    constexpr int kCalls = 1000;
    std::vector<int64_t> found;
    for (int round = 0; round < kRounds; ++round) {
        const int64_t begin_ns = now_ns();
        for (int i = 0; i < kCalls; ++i) call();
        found.push_back((now_ns() - begin_ns) / kCalls);
        NEED(cuCtxSynchronize());
    }
    return at(found, 0.5);
}

// Another thread that launches as fast as it can, without filling its queue.
class Load {
  public:
    explicit Load(CUcontext context)
        : thread_([this, context] {
              NEED(cuCtxSetCurrent(context));
              const CUstream stream = made_stream();
              const CUfunction busy = kernel(kPtx, "busy__20us");
              while (!stop_) {
                  for (int i = 0; i < 64; ++i) launch(busy, stream);
                  NEED(cuStreamSynchronize(stream));
              }
          }) {}
    ~Load() {
        stop_ = true;
        thread_.join();
    }

  private:
    std::atomic<bool> stop_ = false;
    std::thread thread_;
};

void calls(CUcontext context) {
    const CUstream stream = made_stream();
    const CUevent event = made_event();
    const auto measured = [&](int64_t& record_ns, int64_t& query_ns) {
        record_ns = each_ns([&] { NEED(cuEventRecord(event, stream)); });
        query_ns = each_ns([&] { static_cast<void>(cuEventQuery(event)); });
    };
    int64_t record_ns = 0, query_ns = 0, beside_record_ns = 0, beside_query_ns = 0;
    measured(record_ns, query_ns);
    {
        const Load load(context);
        measured(beside_record_ns, beside_query_ns);
    }
    std::printf(
        "{\"record_ns\": %lld, \"query_ns\": %lld, \"beside_launches\": {\"record_ns\": %lld, "
        "\"query_ns\": %lld}}\n",
        static_cast<long long>(record_ns), static_cast<long long>(query_ns),
        static_cast<long long>(beside_record_ns), static_cast<long long>(beside_query_ns));
}

// Asked with a CUkernel where a CUfunction is wanted: what does this driver do?
void name_of_a_kernel() {
    CUlibrary library = nullptr;
    CUkernel of_library = nullptr;
    NEED(cuLibraryLoadData(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
    NEED(cuLibraryGetKernel(&of_library, library, "empty__1us"));
    const char* name = nullptr;
    const CUresult result = cuFuncGetName(&name, reinterpret_cast<CUfunction>(of_library));
    const bool is_it = result == CUDA_SUCCESS && name != nullptr && std::strcmp(name, "empty__1us") == 0;
    std::printf("{\"result\": %d, \"name_is_right\": %s}\n", result, is_it ? "true" : "false");
}

// An event that waits for its stream's work, and another stream's work behind it.
void queues() {
    const CUstream first = made_stream(), second = made_stream();
    const CUfunction busy = kernel(kPtx, "busy__20us"), empty = kernel(kPtx, "empty__1us");
    const CUevent of_first = made_event(), of_second = made_event();
    launch(empty, first);
    launch(empty, second);
    NEED(cuCtxSynchronize());
    const int64_t begin_ns = now_ns();
    for (int i = 0; i < 100; ++i) launch(busy, first);
    NEED(cuEventRecord(of_first, first));
    launch(empty, second);
    NEED(cuEventRecord(of_second, second));
    NEED(cuEventSynchronize(of_second));
    const int64_t second_ns = now_ns() - begin_ns;
    NEED(cuEventSynchronize(of_first));
    std::printf("{\"second_ns\": %lld, \"first_ns\": %lld}\n", static_cast<long long>(second_ns),
                static_cast<long long>(now_ns() - begin_ns));
}

long resident_kb() {
    long pages = 0;
    if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
        std::fclose(file);
    }
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

void create() {
    constexpr int kEvents = 8192;
    size_t free_before = 0, free_after = 0, all = 0;
    NEED(cuMemGetInfo(&free_before, &all));
    const long before_kb = resident_kb();
    const int64_t begin_ns = now_ns();
    for (int i = 0; i < kEvents; ++i) made_event();
    const int64_t took_ns = now_ns() - begin_ns;
    NEED(cuMemGetInfo(&free_after, &all));
    std::printf("{\"events\": %d, \"ns_each\": %lld, \"host_kb\": %ld, \"device_kb\": %lld}\n", kEvents,
                static_cast<long long>(took_ns / kEvents), resident_kb() - before_kb,
                (static_cast<long long>(free_before) - static_cast<long long>(free_after)) / 1024);
}

// From before the recording of an event on an empty stream until somebody who polls sees that it is over.
void widths(const char* name, const char* end) {
    const CUstream stream = made_stream();
    const CUevent event = made_event();
    std::vector<int64_t> found;
    for (int i = 0; i < 200; ++i) {
        const int64_t begin_ns = now_ns();
        NEED(cuEventRecord(event, stream));
        while (cuEventQuery(event) == CUDA_ERROR_NOT_READY) {
        }
        found.push_back(now_ns() - begin_ns);
    }
    std::printf("\"%s\": [%lld, %lld, %lld]%s", name, static_cast<long long>(at(found, 0)),
                static_cast<long long>(at(found, 0.5)), static_cast<long long>(at(found, 0.95)), end);
}

void anchors(CUcontext context) {
    std::printf("{");
    widths("idle_ns", ", ");
    {
        const Load load(context);
        widths("beside_launches_ns", "}\n");
    }
}

void load_for_a_while(CUcontext context) {
    const Load load(context);
    usleep(1'500'000);
    std::printf("{}\n");
}

}  // namespace

int main(int count, char** words) {
    if (count != 2) return 2;
    const std::string_view what = words[1];
    CUcontext context = nullptr;
    NEED(cuInit(0));
    NEED(cuDevicePrimaryCtxRetain(&context, 0));
    NEED(cuCtxSetCurrent(context));
    if (what == "clock") return clock_grain(), 0;
    if (what == "chain") return chain(), 0;
    if (what == "programmatic") return programmatic(), 0;
    if (what == "calls") return calls(context), 0;
    if (what == "name") return name_of_a_kernel(), 0;
    if (what == "queues") return queues(), 0;
    if (what == "create") return create(), 0;
    if (what == "anchors") return anchors(context), 0;
    if (what == "load") return load_for_a_while(context), 0;
    return 2;
}
