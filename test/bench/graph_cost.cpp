// What it takes to capture a graph, to make it executable, and to update it: graph_cost NODES ROUNDS
// [cloned]. Each graph has kernels of 40 functions, and a copy and a memset for every 40 of them. `cloned`:
// what is made executable is a copy of what was captured, whose nodes no call has named. Prints the fastest
// and the median of each, in ns. It has a second thread, as each process with a context has (the driver
// starts its own): in a process of one thread malloc takes no locks, and each of a graph's nodes would cost
// less until a library that has a thread is loaded.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "driver.h"

namespace {

constexpr int kFunctions = 40;

#define DRIVER(name) decltype(&::name) name##_ = find<decltype(&::name)>(#name)

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "graph_cost: %s\n", what);
    std::exit(1);
}

void* library() {
    static void* const opened = dlopen("libcuda.so.1", RTLD_NOW);
    return opened != nullptr ? opened : (fail(dlerror()), nullptr);
}
template <class Function>
Function find(const char* name) {
    void* found = dlsym(library(), name);
    if (found == nullptr) fail(name);
    return reinterpret_cast<Function>(found);
}

#define MUST(call) \
    if ((call) != CUDA_SUCCESS) fail(#call)

struct Times {
    std::vector<int64_t> ns;
    void print(const char* name) {
        std::sort(ns.begin(), ns.end());
        std::printf("%s_min_ns %ld %s_median_ns %ld\n", name, ns.front(), name, ns[ns.size() / 2]);
    }
};

int64_t processor_ns() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

template <class Work>
void timed(Times& times, const Work& work) {
    const int64_t begin_ns = processor_ns();
    work();
    times.ns.push_back(processor_ns() - begin_ns);
}

class Program {
  public:
    Program(int nodes, bool cloned) : nodes_(nodes), cloned_(cloned) {
        CUcontext context;
        CUmodule module;
        MUST(find<decltype(&::cuInit)>("cuInit")(0));
        MUST((find<CUresult (*)(CUcontext*, unsigned, CUdevice)>("cuCtxCreate_v2")(&context, 0U, 0)));
        MUST(find<decltype(&::cuModuleLoadData)>("cuModuleLoadData")(&module, "an image"));
        for (int i = 0; i < kFunctions; ++i)
            MUST(find<decltype(&::cuModuleGetFunction)>("cuModuleGetFunction")(
                &functions_[i], module, ("kernel_" + std::to_string(i) + "__1us").c_str()));
        MUST(find<decltype(&::cuStreamCreate)>("cuStreamCreate")(&stream_, CU_STREAM_NON_BLOCKING));
        MUST((find<CUresult (*)(CUdeviceptr*, size_t)>("cuMemAlloc_v2")(&memory_, 1 << 20)));
    }

    void round() {
        CUgraph first = captured(), second = captured();
        CUgraphExec exec = nullptr;
        timed(instantiate, [&] { MUST(cuGraphInstantiateWithFlags_(&exec, first, 0)); });
        CUgraphExecUpdateResultInfo info;
        timed(update, [&] { MUST(cuGraphExecUpdate_v2_(exec, second, &info)); });
        MUST(cuGraphExecDestroy_(exec));
        MUST(cuGraphDestroy_(first));
        MUST(cuGraphDestroy_(second));
    }

    Times capture, instantiate, update;

  private:
    CUgraph captured() {
        CUgraph graph = nullptr, clone = nullptr;
        timed(capture, [&] {
            MUST(cuStreamBeginCapture_v2_(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
            for (int i = 0; i < nodes_; ++i) MUST(add(i));
            MUST(cuStreamEndCapture_(stream_, &graph));
        });
        if (!cloned_) return graph;
        MUST(cuGraphClone_(&clone, graph));
        MUST(cuGraphDestroy_(graph));
        return clone;
    }
    CUresult add(int i) {
        if (i % 42 == 40) return cuMemcpyDtoDAsync_v2_(memory_ + 65536, memory_, 4096, stream_);
        if (i % 42 == 41) return cuMemsetD8Async_(memory_, 0, 4096, stream_);
        return cuLaunchKernel_(functions_[i % 42], 8, 1, 1, 256, 1, 1, 0, stream_, nullptr, nullptr);
    }

    using CopyAsync = CUresult (*)(CUdeviceptr, CUdeviceptr, size_t, CUstream);
    const int nodes_;
    const bool cloned_;
    CUfunction functions_[kFunctions] = {};
    CUstream stream_ = nullptr;
    CUdeviceptr memory_ = 0;
    DRIVER(cuLaunchKernel);
    DRIVER(cuMemsetD8Async);
    DRIVER(cuStreamEndCapture);
    DRIVER(cuGraphClone);
    DRIVER(cuGraphDestroy);
    DRIVER(cuGraphExecDestroy);
    DRIVER(cuGraphInstantiateWithFlags);
    CopyAsync cuMemcpyDtoDAsync_v2_ = find<CopyAsync>("cuMemcpyDtoDAsync_v2");
    CUresult (*cuStreamBeginCapture_v2_)(CUstream, CUstreamCaptureMode) =
        find<CUresult (*)(CUstream, CUstreamCaptureMode)>("cuStreamBeginCapture_v2");
    CUresult (*cuGraphExecUpdate_v2_)(CUgraphExec, CUgraph, CUgraphExecUpdateResultInfo*) =
        find<CUresult (*)(CUgraphExec, CUgraph, CUgraphExecUpdateResultInfo*)>("cuGraphExecUpdate_v2");
};

}  // namespace

int main(int count, char** words) {
    if (count < 3) fail("graph_cost NODES ROUNDS [cloned]");
    std::thread([] {
        for (;;) pause();
    }).detach();
    Program program(std::atoi(words[1]), count > 3 && std::strcmp(words[3], "cloned") == 0);
    for (int i = 0; i < std::atoi(words[2]); ++i) {
        program.round();
        const timespec rest = {0, 20'000'000};  // the writer empties the ring
        nanosleep(&rest, nullptr);
    }
    program.capture.print("capture");
    program.instantiate.print("instantiate");
    program.update.print("update");
    return 0;
}
