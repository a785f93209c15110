// How well operations would be placed on the device's time here, and what there is of NVML.
#include <cstdlib>
#include <cstring>
#include <string>

#include "check.h"
#include "opened.h"
#include "topology.h"

namespace gpushim::analysis::check_level {

namespace {

// Without one of them no event of ours says anything.
constexpr const char* kNeeded[] = {"cuEventCreate", "cuEventRecord", "cuEventQuery", "cuEventElapsedTime",
                                   "cuThreadExchangeStreamCaptureMode"};

std::string set_to(const char* variable) {
    const char* value = std::getenv(variable);
    return value != nullptr ? value : "";
}

CheckFinding host_only(const std::string& why) {
    return {CheckVerdict::limited, "times",
            "level host: " + why + "; the times of operations are bounded by their calls"};
}

CheckFinding level() {
    const Opened driver("libcuda.so.1");
    if (driver.handle == nullptr) return {CheckVerdict::limited, "times", "none: there is no driver"};
    const std::string wish = set_to("GPUSHIM_DEVICE_TIME");
    if (wish == "off") return host_only("GPUSHIM_DEVICE_TIME=off");
    for (const char* name : kNeeded)
        if (dlsym(driver.handle, name) == nullptr) return host_only("the driver has no " + std::string(name));
    std::string text = wish == "cupti" ? "level cupti: CUPTI's records, also of the nodes of graphs, if "
                                         "CUPTI is found and no other tool in the process uses it. Otherwise "
                                         "events: an event before and after each operation, in windows"
                                       : "level events: an event before and after each operation, in windows";
    if (set_to("GPUSHIM_LEGACY_EVENTS") == "0")
        text +=
            "; no events on the default stream (GPUSHIM_LEGACY_EVENTS=0): operations there have bounds only";
    return {CheckVerdict::fine, "times", text};
}

// "0, 2": devices that are cut into instances.
std::string with_mig(int devices) {
    const Opened nvml("libnvidia-ml.so.1");
    const auto device_at = nvml.function<unsigned, void**>("nvmlDeviceGetHandleByIndex_v2");
    const auto mode_of = nvml.function<void*, unsigned*, unsigned*>("nvmlDeviceGetMigMode");
    std::string text;
    for (unsigned i = 0; device_at != nullptr && mode_of != nullptr && i < static_cast<unsigned>(devices);
         ++i) {
        void* device = nullptr;
        unsigned now = 0, later = 0;
        if (device_at(i, &device) == 0 && mode_of(device, &now, &later) == 0 && now == 1)
            text += (text.empty() ? "" : ", ") + std::to_string(i);
    }
    return text;
}

CheckFinding nvml() {
    const Topology topology = look_at_topology();
    if (!topology.why.empty())
        return {CheckVerdict::limited, "NVML",
                topology.why + ": power, clocks, temperatures and links are not recorded"};
    const int devices = static_cast<int>(topology.names.size());
    std::string text = std::to_string(devices) + (devices == 1 ? " device" : " devices") +
                       ": power, clocks, temperatures, utilisation once a second";
    const std::string mig = with_mig(devices);
    if (!mig.empty()) text += "; MIG is on (GPU " + mig + "): an instance shows only its memory";
    return {mig.empty() ? CheckVerdict::fine : CheckVerdict::limited, "NVML", text};
}

void look(const Examined&, std::vector<CheckFinding>& findings) {
    findings.push_back(level());
    findings.push_back(nvml());
}

constexpr Check kCheck = {15, look};
const CheckRegistration kRegistration(kCheck);

}  // namespace

}  // namespace gpushim::analysis::check_level
