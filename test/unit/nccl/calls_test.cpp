// What is true of every exported call.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/truth.h"
#include "ranks.h"
#include "truth_lines.h"

namespace calls_test {

namespace {

const gpusim::truth::Count& counted(const char* name) { return *gpusim::truth::count(name); }

}  // namespace

TEST_CASE("calls are counted, and those inside others as nested", "[nccl]") {
    box::knobs("GPUSIM_DEVICES=1");
    const Ranks ranks(1);
    int* const b = ranks.put(0, std::vector<int>{1});
    NC(ncclBroadcast(b, b, 1, ncclInt, 0, ranks.comm(0), ranks.stream(0)));
    NC(ncclBcast(b, 1, ncclInt, 0, ranks.comm(0), ranks.stream(0)));
    NC_IS(pncclBcast(b, 1, ncclInt, 7, ranks.comm(0), ranks.stream(0)), ncclInvalidArgument);
    CHECK(counted("ncclBcast").entered == 2);
    CHECK(counted("ncclBcast").returned == 2);
    CHECK(counted("ncclBcast").nested == 0);
    CHECK(counted("ncclBroadcast").entered == 1);
    CHECK(counted("ncclBroadcast").returned == 1);
    CHECK(counted("ncclBroadcast").nested == 2);
    ranks.synchronize();
}

TEST_CASE("GPUSIM_FAIL makes the nth call fail, which then does nothing", "[nccl]") {
    box::knobs("GPUSIM_DEVICES=1 GPUSIM_FAIL=ncclAllReduce:2:3");
    const Ranks ranks(1);
    int* const b = ranks.put(0, std::vector<int>{5, -1});
    const auto copy = [&] {
        return ncclAllReduce(b, b + 1, 1, ncclInt, ncclSum, ranks.comm(0), ranks.stream(0));
    };
    NC(copy());
    ranks.synchronize();
    ranks.use(0);
    CU(cuMemsetD32(reinterpret_cast<CUdeviceptr>(b + 1), 0, 1));
    NC_IS(copy(), ncclInternalError);
    ranks.synchronize();
    CHECK(ranks.get(0, b + 1, 1)[0] == 0);
    NC(copy());
    ranks.synchronize();
    CHECK(ranks.get(0, b + 1, 1)[0] == 5);
}

TEST_CASE("calls cost virtual time", "[nccl]") {
    box::knobs("GPUSIM_CLOCK=stepped GPUSIM_CALL_NS=700");
    int version = 0;
    const gpusim::Ns before = gpusim::clock::now();
    NC(ncclGetVersion(&version));
    CHECK(gpusim::clock::now() == before + 700);
    CHECK(version == NCCL_VERSION_CODE);
}

TEST_CASE("every name is there twice, at one address", "[nccl]") {
    void* const library = dlopen("libnccl.so.2", RTLD_NOW);
    REQUIRE(library != nullptr);
    for (const char* name :
         {"ncclAllReduce", "ncclCommInitRankScalable", "ncclGroupSimulateEnd", "ncclResetDebugInit"}) {
        void* const found = dlsym(library, name);
        CHECK(found != nullptr);
        CHECK(found == dlsym(library, ("p" + std::string(name)).c_str()));
    }
    CHECK(ncclGetErrorString(ncclSuccess) == std::string("no error"));
    CHECK(ncclGetErrorString(ncclNumResults) == std::string("unknown result code"));
}

TEST_CASE("after a fork the child gets errors and the parent goes on", "[nccl][no_emulator]") {
    box::knobs("GPUSIM_DEVICES=1");
    const Ranks ranks(1);
    int* const b = ranks.put(0, std::vector<int>{3, -1});
    const auto copy = [&] {
        return ncclAllReduce(b, b + 1, 1, ncclInt, ncclSum, ranks.comm(0), ranks.stream(0));
    };
    const uint64_t before = counted("ncclAllReduce").entered;
    const pid_t child = fork();
    if (child == 0) {
        ncclUniqueId id;
        ncclComm_t made;
        int version = 0;
        const bool refused = copy() == ncclUnhandledCudaError &&
                             ncclGetUniqueId(&id) == ncclUnhandledCudaError &&
                             ncclCommInitAll(&made, 1, nullptr) == ncclUnhandledCudaError;
        _exit(refused && ncclGetVersion(&version) == ncclSuccess ? 0 : 1);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(counted("ncclAllReduce").entered == before);
    NC(copy());
    ranks.synchronize();
    CHECK(ranks.get(0, b + 1, 1)[0] == 3);
}

TEST_CASE("a captured group happens once for each launch of the graph", "[nccl]") {
    box::knobs("GPUSIM_DEVICES=2");
    const Ranks ranks(2);
    int* const b[] = {ranks.put(0, std::vector<int>{1}), ranks.put(1, std::vector<int>{1})};
    CUgraphExec graphs[2];
    for (int r = 0; r < 2; ++r) {
        ranks.use(r);
        auto* const stream = reinterpret_cast<CUstream>(ranks.stream(r));
        CUgraph graph;
        CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
        NC(ncclAllReduce(b[r], b[r], 1, ncclInt, ncclSum, ranks.comm(r), ranks.stream(r)));
        CU(cuStreamEndCapture(stream, &graph));
        CU(cuGraphInstantiate(&graphs[r], graph, 0));
    }
    for (int expected = 1; expected <= 16; expected *= 2) {
        for (int r = 0; r < 2; ++r) CHECK(ranks.get(r, b[r], 1)[0] == expected);
        for (int r = 0; r < 2; ++r) {
            ranks.use(r);
            CU(cuGraphLaunch(graphs[r], reinterpret_cast<CUstream>(ranks.stream(r))));
        }
        ranks.synchronize();
    }
}

TEST_CASE("kernels are launched by cuLaunchKernelEx, on the communicator's device", "[nccl]") {
    const TruthFile truth;
    box::knobs("GPUSIM_DEVICES=2" + truth.knob());
    const Ranks ranks(2);
    int* const b[] = {ranks.put(0, std::vector<int>{1}), ranks.put(1, std::vector<int>{1})};
    CU(cuCtxSetCurrent(nullptr));
    NC(ncclGroupStart());
    for (int r = 0; r < 2; ++r) NC(ncclAllReduce(b[r], b[r], 1, ncclInt, ncclSum, ranks.comm(r), nullptr));
    NC(ncclGroupEnd());
    CUcontext current = nullptr;
    CU(cuCtxGetCurrent(&current));
    CHECK(current == nullptr);
    CHECK(counted("cuLaunchKernelEx").entered == 2);
    CHECK(counted("cuLaunchKernel").entered == 0);
    for (int r = 0; r < 2; ++r) {
        ranks.use(r);
        CU(cuCtxSynchronize());
    }
    const auto lines = truth.nccl_lines();
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].device + lines[1].device == 1);
}

TEST_CASE("kernels are launched by cuLaunchKernel where a driver has no other", "[nccl]") {
    box::knobs("GPUSIM_DEVICES=1 GPUSIM_MISSING=cuLaunchKernelEx");
    const Ranks ranks(1);
    int* const b = ranks.put(0, std::vector<int>{1});
    NC(ncclAllReduce(b, b, 1, ncclInt, ncclSum, ranks.comm(0), ranks.stream(0)));
    ranks.synchronize();
    CHECK(counted("cuLaunchKernel").entered == 1);
}

}  // namespace calls_test
