// The library itself: init and shutdown, versions, the words for errors.
#include <unistd.h>

#include <atomic>
#include <cstdio>

#include "api.h"
#include "device.h"
#include "engine/knobs.h"
#include "values.h"

namespace {

std::atomic<int> users{0};  // calls of init less those of shutdown

}  // namespace

bool gpusim::nvml::initialised() { return users.load(std::memory_order_relaxed) > 0; }

using namespace gpusim::nvml;

IMPLEMENT(nvmlInit)() { return sim_nvmlInitWithFlags(0); }
IMPLEMENT(nvmlInit_v2)() { return sim_nvmlInitWithFlags(0); }
IMPLEMENT(nvmlInitWithFlags)(unsigned) {
    users.fetch_add(1);
    return NVML_SUCCESS;
}

IMPLEMENT(nvmlShutdown)() {
    int seen = users.load();
    while (seen > 0 && !users.compare_exchange_weak(seen, seen - 1)) {
    }
    return seen > 0 ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

extern "C" const char* sim_nvmlErrorString(nvmlReturn_t result) {
    switch (result) {
#define ERROR(code, text) \
    case code:            \
        return text;
#include "errors.def"
#undef ERROR
    }
    return "Unknown error";
}

IMPLEMENT(nvmlSystemGetDriverVersion)(char* version, unsigned length) {
    return answer_text(values::kDriverVersion, version, length);
}

IMPLEMENT(nvmlSystemGetNVMLVersion)(char* version, unsigned length) {
    return answer_text(values::kNvmlVersion, version, length);
}

IMPLEMENT(nvmlSystemGetCudaDriverVersion)(int* version) {
    if (version == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *version = static_cast<int>(gpusim::knobs().version);
    return NVML_SUCCESS;
}

IMPLEMENT(nvmlSystemGetCudaDriverVersion_v2)(int* version) {
    return sim_nvmlSystemGetCudaDriverVersion(version);
}

IMPLEMENT(nvmlSystemGetProcessName)(unsigned pid, char* name, unsigned length) {
    if (name == nullptr || length == 0) return NVML_ERROR_INVALID_ARGUMENT;
    char path[4096];
    const std::string link = "/proc/" + std::to_string(pid) + "/exe";
    const ssize_t got = readlink(link.c_str(), path, sizeof path);
    if (got <= 0) return NVML_ERROR_NOT_FOUND;
    return answer_text(std::string(path, static_cast<size_t>(got)), name, length);
}
