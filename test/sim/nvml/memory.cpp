// Memory of a device, and the processes that hold some of it or work on it.
#include <vector>

#include "device.h"
#include "engine/box_state.h"
#include "engine/device_facts.h"
#include "values.h"

using namespace gpusim;
using namespace gpusim::nvml;

namespace {

constexpr unsigned kNoInstance = 0xffffffffU;  // without MIG

template <class Memory>
void fill(int device, Memory& memory) {
    const auto total = static_cast<unsigned long long>(device_memory_bytes());
    const auto used = static_cast<unsigned long long>(box::memory_used(device));
    memory.total = total;
    memory.used = used;
    memory.free = total - used;
}

bool uses(const ProcessUse& process, int device) {
    const DeviceUse& use = process.device[device];
    return use.memory_bytes > 0 || use.busy_until_ns[0] > 0 || use.busy_until_ns[1] > 0;
}

struct Holder {
    unsigned pid = 0;
    unsigned long long bytes = 0;
};

std::vector<Holder> holders(int device) {
    std::vector<Holder> found;
    box::each_process([&](const ProcessUse& p) {
        if (uses(p, device))
            found.push_back({static_cast<unsigned>(p.pid.load()),
                             static_cast<unsigned long long>(p.device[device].memory_bytes.load())});
    });
    return found;
}

// All versions of the structure begin alike.
template <class Info>
nvmlReturn_t running(nvmlDevice_t device, unsigned* count, Info* infos) {
    const int index = index_of(device);
    if (index < 0) return NVML_ERROR_INVALID_ARGUMENT;
    const auto all = holders(index);
    return answer_list(count, infos, static_cast<unsigned>(all.size()), [&](unsigned i) {
        Info info{};
        info.pid = all[i].pid;
        info.usedGpuMemory = all[i].bytes;
        if constexpr (requires { info.gpuInstanceId; })
            info.gpuInstanceId = info.computeInstanceId = kNoInstance;
        return info;
    });
}

}  // namespace

IMPLEMENT(nvmlDeviceGetMemoryInfo)(nvmlDevice_t device, nvmlMemory_t* memory) {
    return answer(device, memory, [](int i) {
        nvmlMemory_t m;
        fill(i, m);
        return m;
    });
}

IMPLEMENT(nvmlDeviceGetMemoryInfo_v2)(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
    return answer_version(device, memory, nvmlMemory_v2, [](int i, nvmlMemory_v2_t& m) {
        fill(i, m);
        m.reserved = 0;
    });
}

IMPLEMENT(nvmlDeviceGetComputeRunningProcesses_v3)
(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_t* infos) { return running(device, count, infos); }
IMPLEMENT(nvmlDeviceGetComputeRunningProcesses)
(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_v1_t* infos) { return running(device, count, infos); }

IMPLEMENT(nvmlDeviceGetGraphicsRunningProcesses_v3)
(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_t*) {
    return answer(device, count, [](int) { return 0; });
}
