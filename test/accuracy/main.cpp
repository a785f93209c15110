// accuracy-workloads                      lists the workloads: name, devices, steps, what it is
// accuracy-workloads NAME [STEPS [SEED]]  runs one
#include <dlfcn.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "work.h"

namespace accuracy {
namespace {

std::vector<Workload>& workloads() {
    static std::vector<Workload> all;
    return all;
}

// The box's own function, where it is there.
void call_box(const char* name, int64_t ns) {
    using Function = void (*)(uint64_t);
    const auto function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
    if (function == nullptr) {
        std::fprintf(stderr, "accuracy: no %s: this runs on the simulated box only\n", name);
        std::exit(2);
    }
    function(static_cast<uint64_t>(ns));
}

}  // namespace

// The kernel of that length among `<kernel>=<ns>,…`.
std::string name_of(int64_t duration_ns) {
    const char* opaque = std::getenv("GPUSIM_DURATIONS");
    const std::string length = std::to_string(duration_ns);
    if (opaque == nullptr || *opaque == '\0') return "work__" + length + "ns";
    const std::string rows = std::string(opaque) + ',';
    const size_t end = rows.find("=" + length + ",");
    if (end == std::string::npos) {
        std::fprintf(stderr, "accuracy: GPUSIM_DURATIONS has no kernel of %s ns\n", length.c_str());
        std::exit(2);
    }
    const size_t comma = rows.rfind(',', end);
    const size_t begin = comma == std::string::npos ? 0 : comma + 1;
    return rows.substr(begin, end - begin);
}

void add(const Workload& workload) { workloads().push_back(workload); }

CUfunction kernel(int64_t duration_ns) {
    static std::map<std::pair<CUcontext, int64_t>, CUfunction> known;
    CUcontext context = nullptr;
    CU(cuCtxGetCurrent(&context));
    CUfunction& function = known[{context, duration_ns}];
    if (function != nullptr) return function;
    CUmodule module = nullptr;
    CU(cuModuleLoadData(&module, "an image"));
    CU(cuModuleGetFunction(&function, module, name_of(duration_ns).c_str()));
    return function;
}

void launch(CUfunction function, CUstream stream, unsigned grid) {
    CU(cuLaunchKernel(function, grid, 1, 1, 128, 1, 1, 0, stream, nullptr, nullptr));
}

CUstream make_stream(unsigned flags) {
    CUstream stream = nullptr;
    CU(cuStreamCreate(&stream, flags));
    return stream;
}

CUevent make_event(unsigned flags) {
    CUevent event = nullptr;
    CU(cuEventCreate(&event, flags));
    return event;
}

CUdeviceptr device_memory(size_t bytes) {
    CUdeviceptr memory = 0;
    CU(cuMemAlloc(&memory, bytes));
    return memory;
}

void* pinned_memory(size_t bytes) {
    void* memory = nullptr;
    CU(cuMemAllocHost(&memory, bytes));
    return memory;
}

CUcontext use_device(int ordinal) {
    static std::map<int, CUcontext> contexts;
    CUcontext& context = contexts[ordinal];
    if (context == nullptr) CU(cuDevicePrimaryCtxRetain(&context, ordinal));
    CU(cuCtxSetCurrent(context));
    return context;
}

void work(int64_t ns) { call_box("gpusim_advance_ns", ns); }
void block(int64_t ns) { call_box("gpusim_block_ns", ns); }

}  // namespace accuracy

int main(int count, char** words) {
    using namespace accuracy;
    for (const Workload& workload : workloads()) {
        if (count < 2) {
            std::printf("%s\t%d\t%lld\t%s\n", workload.name, workload.devices,
                        static_cast<long long>(workload.steps), workload.what);
        } else if (std::strcmp(words[1], workload.name) == 0) {
            // One that forks does this in its children.
            if (workload.devices != 0) {
                CU(cuInit(0));
                use_device(0);
            }
            workload.go({count > 2 ? std::atoll(words[2]) : workload.steps,
                         count > 3 ? static_cast<uint64_t>(std::atoll(words[3])) : 0});
            return 0;
        }
    }
    return count < 2 ? 0 : 2;
}
