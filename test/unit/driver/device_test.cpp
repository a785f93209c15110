// Devices: how many, what they are called, what they say of themselves.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <set>

#include "core.h"

namespace device_test {

namespace {

int attribute(CUdevice_attribute which, CUdevice device = 0) {
    int value = -1;
    CU(cuDeviceGetAttribute(&value, which, device));
    return value;
}

std::string pci_of(CUdevice device) {
    char text[32];
    CU(cuDeviceGetPCIBusId(text, sizeof text, device));
    return text;
}

CUresult by_pci(const std::string& text, CUdevice* device) {
    return cuDeviceGetByPCIBusId(device, text.c_str());
}

}  // namespace

TEST_CASE("the box has as many devices as it is told, and none is called real", "[device]") {
    box::knobs("GPUSIM_DEVICES=3 GPUSIM_NAME=Trainer GPUSIM_MEMORY_GB=5");
    CU(cuInit(0));
    int count = 0;
    CU(cuDeviceGetCount(&count));
    CHECK(count == 3);
    std::set<std::string> uuids, addresses;
    for (int i = 0; i < 3; ++i) {
        CUdevice device = -1;
        CU(cuDeviceGet(&device, i));
        CHECK(device == i);
        char name[64];
        CU(cuDeviceGetName(name, sizeof name, device));
        CHECK(std::string(name) == "Simulated Trainer");
        size_t bytes = 0;
        CU(cuDeviceTotalMem_v2(&bytes, device));
        CHECK(bytes == 5ULL << 30);
        CUuuid uuid{};
        CU(cuDeviceGetUuid_v2(&uuid, device));
        uuids.emplace(uuid.bytes, sizeof uuid.bytes);
        addresses.insert(pci_of(device));
    }
    CHECK(uuids.size() == 3);
    CHECK(addresses.size() == 3);
    CUdevice device = 0;
    CHECK(cuDeviceGet(&device, 3) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(cuDeviceGet(&device, -1) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(cuDeviceGet(nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a device is found by its address in every way to write it", "[device]") {
    box::knobs("GPUSIM_DEVICES=2");
    CU(cuInit(0));
    const std::string full = pci_of(1);  // 0000:11:00.0
    CUdevice device = -1;
    for (const std::string& text : {full, full.substr(0, 10), full.substr(5), std::string("0:11:0")}) {
        INFO(text);
        device = -1;
        CU(by_pci(text, &device));
        CHECK(device == 1);
    }
    CHECK(by_pci("0000:7f:00.0", &device) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(by_pci("nonsense", &device) == CUDA_ERROR_INVALID_VALUE);
    char text[5] = "????";
    CU(cuDeviceGetPCIBusId(text, sizeof text, 0));
    CHECK(std::string(text) == "0000");  // cut to the length given
    CHECK(cuDeviceGetPCIBusId(text, 0, 0) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("attributes of a device", "[device]") {
    CU(cuInit(0));
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE) == 32);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK) == 1024);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) == 9);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) == 132);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING) == 1);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) == 0x10);
    int value = 0;
    CHECK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(0), 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 1) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(cuDeviceGetAttribute(nullptr, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("the older questions about a device", "[device]") {
    CU(cuInit(0));
    CUdevprop properties{};
    CU(cuDeviceGetProperties(&properties, 0));
    CHECK(properties.SIMDWidth == 32);
    CHECK(properties.maxThreadsPerBlock == 1024);
    int major = 0, minor = -1;
    CU(cuDeviceComputeCapability(&major, &minor, 0));
    CHECK(major == 9);
    CHECK(minor == 0);
    CHECK(cuDeviceComputeCapability(nullptr, &minor, 0) == CUDA_ERROR_INVALID_VALUE);
    unsigned bytes = 0;
    CU(cuDeviceTotalMem(&bytes, 0));
    CHECK(bytes == UINT32_MAX);  // as much as fits
}

TEST_CASE("the driver says its version", "[device]") {
    box::knobs("GPUSIM_VERSION=12080");
    int version = 0;
    CU(cuDriverGetVersion(&version));
    CHECK(version == 12080);
    CHECK(cuDriverGetVersion(nullptr) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a box without devices", "[device]") {
    box::knobs("GPUSIM_DEVICES=0");
    CHECK(cuInit(0) == CUDA_ERROR_NO_DEVICE);
    int count = -1;
    CHECK(cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED);
}

TEST_CASE("more devices than the box can hold are refused", "[device][no_emulator]") {
    const std::string list = "/proc/" + std::to_string(getpid()) + "/exe --list-reporters >/dev/null 2>&1";
    CHECK(WEXITSTATUS(std::system(("GPUSIM_DEVICES=64 " + list).c_str())) != 2);
    CHECK(WEXITSTATUS(std::system(("GPUSIM_DEVICES=65 " + list).c_str())) == 2);
}

}  // namespace device_test
