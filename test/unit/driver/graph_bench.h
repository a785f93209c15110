// What cases about capture and graphs stand on: device 0 of a box with an exact clock, a few kernels whose
// names say how long they take, streams, and the truth about what ran. The first statement of a case makes
// one.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include "box.h"

struct Ran {
    std::string op, name;
    int device = 0;
    uint64_t stream = 0;
    int64_t start_ns = 0, end_ns = 0, bytes = 0, enter_ns = 0;
};

class Bench {
  public:
    // Calls take no time, a launch begins 1000 ns after its call, an event takes 100 ns.
    explicit Bench(const std::string& more_knobs = "") {
        truth_ = "/tmp/gpusim-graphs-" + std::to_string(getpid()) + ".truth";
        box::knobs(("GPUSIM_CLOCK=stepped GPUSIM_CALL_NS=0 GPUSIM_LAUNCH_NS=0 GPUSIM_EVENT_NS=0 "
                    "GPUSIM_LATENCY_NS=1000 GPUSIM_EVENT_LATENCY_NS=100 GPUSIM_TRUTH=" +
                    truth_ + " " + more_knobs)
                       .c_str());
        CU(cuInit(0));
        CU(cuDevicePrimaryCtxRetain(&context, 0));
        CU(cuCtxSetCurrent(context));
        CU(cuModuleLoadData(&module, kPtx));
    }
    ~Bench() {
        std::remove(truth_.c_str());
        std::remove((truth_ + ".counts").c_str());
    }
    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;

    CUfunction kernel(const char* name) const {
        CUfunction function = nullptr;
        CU(cuModuleGetFunction(&function, module, name));
        return function;
    }
    CUstream stream(unsigned flags = CU_STREAM_NON_BLOCKING) const {
        CUstream made = nullptr;
        CU(cuStreamCreate(&made, flags));
        return made;
    }
    CUevent event(unsigned flags = CU_EVENT_DISABLE_TIMING) const {
        CUevent made = nullptr;
        CU(cuEventCreate(&made, flags));
        return made;
    }
    CUresult launch(const char* name, CUstream in) const {
        return cuLaunchKernel(kernel(name), 1, 1, 1, 32, 1, 1, 0, in, nullptr, nullptr);
    }
    CUdeviceptr memory(size_t bytes) const {
        CUdeviceptr made = 0;
        CU(cuMemAlloc_v2(&made, bytes));
        return made;
    }

    // All that is over by now, in the order of issue. Waits for the device.
    std::vector<Ran> ran() const {
        CU(cuCtxSynchronize());
        std::vector<Ran> all;
        std::ifstream file(truth_);
        for (std::string line; std::getline(file, line);) {
            std::istringstream words(line);
            Ran r;
            std::getline(words, r.op, '\t');
            words >> r.device >> r.stream >> r.start_ns >> r.end_ns >> r.bytes >> r.name >> r.enter_ns;
            all.push_back(r);
        }
        return all;
    }
    std::string order() const {  // of what ran, kernels by name
        std::string text;
        for (const Ran& r : ran()) text += (text.empty() ? "" : " ") + (r.op == "kernel" ? r.name : r.op);
        return text;
    }

    CUcontext context = nullptr;
    CUmodule module = nullptr;

  private:
    static constexpr const char* kPtx =
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry a__10us() { ret; }\n"
        ".visible .entry b__20us() { ret; }\n"
        ".visible .entry c__5us() { ret; }\n"
        ".visible .entry d__1us() { ret; }\n"
        ".visible .entry add__3us(.param .u64 to, .param .u32 value) { ret; }\n";
    std::string truth_;
};

// On another thread, in this thread's context.
template <class Work>
void elsewhere(const Bench& bench, const Work& work) {
    std::thread([&] {
        if (cuCtxSetCurrent(bench.context) == CUDA_SUCCESS) work();
    }).join();
}

inline std::vector<CUgraphNode> nodes_of(CUgraph graph) {
    size_t count = 0;
    CU(cuGraphGetNodes(graph, nullptr, &count));
    std::vector<CUgraphNode> nodes(count);
    CU(cuGraphGetNodes(graph, nodes.data(), &count));
    return nodes;
}

// "0>1 0>2": dependencies, nodes numbered in the order in which they were added.
inline std::string edges_of(CUgraph graph) {
    const auto nodes = nodes_of(graph);
    size_t count = 0;
    CU(cuGraphGetEdges(graph, nullptr, nullptr, &count));
    std::vector<CUgraphNode> from(count), to(count);
    CU(cuGraphGetEdges(graph, from.data(), to.data(), &count));
    const auto number = [&](CUgraphNode node) {
        for (size_t i = 0; i < nodes.size(); ++i)
            if (nodes[i] == node) return std::to_string(i);
        return std::string("?");
    };
    std::string text;
    for (size_t i = 0; i < count; ++i) text += (i != 0 ? " " : "") + number(from[i]) + ">" + number(to[i]);
    return text;
}

inline CUgraphExec executable(CUgraph graph) {
    CUgraphExec exec = nullptr;
    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
}

inline CUstreamCaptureStatus status_of(CUstream stream) {
    CUstreamCaptureStatus status{};
    CU(cuStreamIsCapturing(stream, &status));
    return status;
}

inline CUDA_KERNEL_NODE_PARAMS kernel_node(CUfunction function, void** parameters = nullptr) {
    CUDA_KERNEL_NODE_PARAMS params{};
    params.func = function;
    params.gridDimX = params.gridDimY = params.gridDimZ = 1;
    params.blockDimX = 32;
    params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = parameters;
    return params;
}

inline CUgraphNode add_kernel(CUgraph graph, CUfunction function,
                              const std::vector<CUgraphNode>& after = {}) {
    const auto params = kernel_node(function);
    CUgraphNode node = nullptr;
    CU(cuGraphAddKernelNode_v2(&node, graph, after.data(), after.size(), &params));
    return node;
}

inline CUgraph new_graph() {
    CUgraph graph = nullptr;
    CU(cuGraphCreate(&graph, 0));
    return graph;
}

inline CUDA_MEMCPY3D flat_copy(CUmemorytype from, const void* source, CUmemorytype to, const void* target,
                               size_t bytes) {
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = from;
    copy.srcHost = source;
    copy.srcDevice = reinterpret_cast<CUdeviceptr>(source);
    copy.dstMemoryType = to;
    copy.dstHost = const_cast<void*>(target);
    copy.dstDevice = reinterpret_cast<CUdeviceptr>(target);
    copy.WidthInBytes = bytes;
    copy.Height = copy.Depth = 1;
    return copy;
}
