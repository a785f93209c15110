// The driver and NCCL as a program here would find them, and the devices.
#include <string>

#include "check.h"
#include "opened.h"

namespace gpushim::analysis::check_driver {

namespace {

std::string version_text(int version, int major, int minor) {
    return std::to_string(version / major) + "." + std::to_string(version % major / minor);
}

std::string count_text_of(int refused) {
    return "how many is not known: cuDeviceGetCount " +
           (refused > 0 ? "returned " + std::to_string(refused) : std::string("is not there"));
}

void look_at_devices(const Opened& driver, std::vector<CheckFinding>& findings) {
    const auto init = driver.function<unsigned>("cuInit");
    const auto count = driver.function<int*>("cuDeviceGetCount");
    const auto name_of = driver.function<char*, int, int>("cuDeviceGetName");
    int devices = 0;
    const int error = init != nullptr ? init(0) : -1;
    const int refused = count != nullptr ? count(&devices) : -1;
    if (error != 0 || (refused == 0 && devices == 0)) {
        findings.push_back({CheckVerdict::blind, "GPUs", "none (cuInit: " + std::to_string(error) + ")"});
        return;
    }
    if (refused != 0) {
        findings.push_back({CheckVerdict::limited, "GPUs", count_text_of(refused)});
        return;
    }
    std::string names;
    for (int i = 0; i < devices && name_of != nullptr; ++i) {
        char name[256] = "";
        name_of(name, sizeof name, i);
        names += (i == 0 ? "" : ", ") + std::string(name);
    }
    findings.push_back({CheckVerdict::fine, "GPUs", std::to_string(devices) + ": " + names});
}

void look(const Examined&, std::vector<CheckFinding>& findings) {
    const Opened driver("libcuda.so.1");
    if (driver.handle == nullptr) {
        findings.push_back({CheckVerdict::blind, "driver", driver.why});
    } else {
        int version = 0;
        const auto version_of = driver.function<int*>("cuDriverGetVersion");
        const bool told = version_of != nullptr && version_of(&version) == 0;
        findings.push_back(
            {CheckVerdict::fine, "driver",
             driver.file_with("cuInit") + (told ? ", CUDA " + version_text(version, 1000, 10) : "")});
        look_at_devices(driver, findings);
    }
    const Opened nccl("libnccl.so.2");
    if (nccl.handle != nullptr) {
        int version = 0;
        const auto version_of = nccl.function<int*>("ncclGetVersion");
        const bool told = version_of != nullptr && version_of(&version) == 0;
        findings.push_back(
            {CheckVerdict::fine, "NCCL",
             nccl.file_with("ncclGetVersion") + (told ? ", " + version_text(version, 10000, 100) : "")});
    } else {
        findings.push_back({CheckVerdict::limited, "NCCL",
                            "not on the library path. A program that brings its own NCCL is still seen. If "
                            "NCCL is linked into a program statically, only its kernels are seen"});
    }
}

constexpr Check kCheck = {10, look};
const CheckRegistration kRegistration(kCheck);

}  // namespace

}  // namespace gpushim::analysis::check_driver
