#include <dlfcn.h>

#include <cstring>
#include <string>

#include "box.h"
#include "engine/device_facts.h"
#include "nvml_device.h"

namespace nvml_test {

using namespace gpusim;

TEST_CASE("NVML answers between init and the last shutdown only", "[nvml]") {
    unsigned count = 0;
    int version = 0;
    CHECK(nvmlDeviceGetCount(&count) == NVML_ERROR_UNINITIALIZED);
    CHECK(nvmlDeviceGetSupportedVgpus(nullptr, nullptr, nullptr) == NVML_ERROR_UNINITIALIZED);
    CHECK(nvmlShutdown() == NVML_ERROR_UNINITIALIZED);
    CHECK(nvmlSystemGetCudaDriverVersion(&version) == NVML_SUCCESS);
    NVML(nvmlInit());
    NVML(nvmlInitWithFlags(NVML_INIT_FLAG_NO_GPUS));
    NVML(nvmlShutdown());
    CHECK(nvmlDeviceGetCount(&count) == NVML_SUCCESS);
    NVML(nvmlShutdown());
    CHECK(nvmlDeviceGetCount(&count) == NVML_ERROR_UNINITIALIZED);
    CHECK(nvmlErrorString(NVML_ERROR_TIMEOUT) == std::string("Timeout"));
}

TEST_CASE("NVML finds a device by index, UUID, serial number and PCI address", "[nvml]") {
    ::box::knobs("GPUSIM_DEVICES=3 GPUSIM_NAME=Z9");
    NVML(nvmlInit());
    unsigned count = 0;
    NVML(nvmlDeviceGetCount(&count));
    REQUIRE(count == 3);
    for (unsigned i = 0; i < count; ++i) {
        const nvmlDevice_t device = device_at(i);
        char text[96];
        nvmlDevice_t found = nullptr;
        unsigned index = 99;
        nvmlPciInfo_t pci;
        NVML(nvmlDeviceGetIndex(device, &index));
        CHECK(index == i);
        NVML(nvmlDeviceGetName(device, text, sizeof text));
        CHECK(text == std::string("Simulated Z9"));
        NVML(nvmlDeviceGetUUID(device, text, sizeof text));
        NVML(nvmlDeviceGetHandleByUUID(text, &found));
        CHECK(found == device);
        NVML(nvmlDeviceGetSerial(device, text, sizeof text));
        NVML(nvmlDeviceGetHandleBySerial(text, &(found = nullptr)));
        CHECK(found == device);
        NVML(nvmlDeviceGetPciInfo(device, &pci));
        NVML(nvmlDeviceGetHandleByPciBusId(pci.busId, &(found = nullptr)));
        CHECK(found == device);
        NVML(nvmlDeviceGetHandleByPciBusId(pci.busIdLegacy, &(found = nullptr)));
        CHECK(found == device);
        CHECK(pci.busIdLegacy == device_pci_text(static_cast<int>(i)));
    }
    nvmlDevice_t found = nullptr;
    CHECK(nvmlDeviceGetHandleByUUID("GPU-00000000-0000-0000-0000-000000000000", &found) ==
          NVML_ERROR_NOT_FOUND);
    CHECK(nvmlDeviceGetHandleByPciBusId("0000:fe:00.0", &found) == NVML_ERROR_NOT_FOUND);
    CHECK(nvmlDeviceGetHandleByIndex(3, &found) == NVML_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("NVML's UUIDs are well formed, differ, and are the bytes the driver has", "[nvml]") {
    ::box::knobs("GPUSIM_DEVICES=2");
    NVML(nvmlInit());
    char text[2][96];
    for (unsigned i = 0; i < 2; ++i) NVML(nvmlDeviceGetUUID(device_at(i), text[i], sizeof text[i]));
    CHECK(std::strcmp(text[0], text[1]) != 0);
    CHECK(std::strlen(text[0]) == 40);
    std::string hex;
    for (const uint8_t byte : device_uuid(0)) {
        char two[3];
        std::snprintf(two, sizeof two, "%02x", byte);
        hex += two;
    }
    std::string plain = text[0] + 4;
    std::erase(plain, '-');
    CHECK(plain == hex);
    nvmlUUID_t binary{};
    binary.version = nvmlUUID_v1;
    binary.type = NVML_UUID_TYPE_BINARY;
    std::memcpy(binary.value.bytes, device_uuid(1).data(), 16);
    nvmlDevice_t found = nullptr;
    NVML(nvmlDeviceGetHandleByUUIDV(&binary, &found));
    CHECK(found == device_at(1));
}

TEST_CASE("NVML refuses wrong arguments", "[nvml]") {
    const nvmlDevice_t device = first_device();
    const auto bogus = reinterpret_cast<nvmlDevice_t>(first_device);
    char text[96];
    unsigned number = 0;
    nvmlUtilization_t rates;
    CHECK(nvmlDeviceGetName(nullptr, text, sizeof text) == NVML_ERROR_INVALID_ARGUMENT);
    CHECK(nvmlDeviceGetName(bogus, text, sizeof text) == NVML_ERROR_INVALID_ARGUMENT);
    CHECK(nvmlDeviceGetName(device, nullptr, sizeof text) == NVML_ERROR_INVALID_ARGUMENT);
    CHECK(nvmlDeviceGetName(device, text, 13) == NVML_ERROR_INSUFFICIENT_SIZE);
    CHECK(nvmlDeviceGetName(device, text, 14) == NVML_SUCCESS);
    CHECK(nvmlDeviceGetUtilizationRates(bogus, &rates) == NVML_ERROR_INVALID_ARGUMENT);
    CHECK(nvmlDeviceGetUtilizationRates(device, nullptr) == NVML_ERROR_INVALID_ARGUMENT);
    CHECK(nvmlDeviceGetClockInfo(device, NVML_CLOCK_COUNT, &number) == NVML_ERROR_INVALID_ARGUMENT);
    CHECK(nvmlDeviceGetSupportedVgpus(device, &number, nullptr) == NVML_ERROR_NOT_SUPPORTED);
    CHECK(nvmlDeviceSetPowerManagementLimit(device, 300'000) == NVML_ERROR_NOT_SUPPORTED);
}

TEST_CASE("NVML looks at the version of a structure", "[nvml]") {
    const nvmlDevice_t device = first_device();
    nvmlMemory_v2_t memory{};
    CHECK(nvmlDeviceGetMemoryInfo_v2(device, &memory) == NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    memory.version = nvmlMemory_v2;
    CHECK(nvmlDeviceGetMemoryInfo_v2(device, &memory) == NVML_SUCCESS);
    CHECK(memory.version == nvmlMemory_v2);
    nvmlTemperature_t temperature{};
    temperature.version = 7;
    CHECK(nvmlDeviceGetTemperatureV(device, &temperature) == NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    temperature.version = nvmlTemperature_v1;
    CHECK(nvmlDeviceGetTemperatureV(device, &temperature) == NVML_SUCCESS);
    nvmlGpuFabricInfoV_t fabric{};
    CHECK(nvmlDeviceGetGpuFabricInfoV(device, &fabric) == NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    fabric.version = nvmlGpuFabricInfo_v2;
    CHECK(nvmlDeviceGetGpuFabricInfoV(device, &fabric) == NVML_SUCCESS);
}

TEST_CASE("NVML's first PCI structures are written up to where they ended", "[nvml]") {
    const nvmlDevice_t device = first_device();
    nvmlPciInfo_t info;
    std::memset(&info, 0x5a, sizeof info);
    const auto get_v2 =
        reinterpret_cast<decltype(&nvmlDeviceGetPciInfo)>(dlsym(RTLD_DEFAULT, "nvmlDeviceGetPciInfo_v2"));
    REQUIRE(get_v2 != nullptr);
    NVML(get_v2(device, &info));
    CHECK(info.busIdLegacy == std::string("0000:10:00.0"));
    CHECK(info.busId[0] == 0x5a);
}

TEST_CASE("NVML's topology: links to a switch, pairs on a PCIe switch, four on a node", "[nvml]") {
    ::box::knobs("GPUSIM_DEVICES=8");
    NVML(nvmlInit());
    nvmlGpuTopologyLevel_t level;
    NVML(nvmlDeviceGetTopologyCommonAncestor(device_at(0), device_at(1), &level));
    CHECK(level == NVML_TOPOLOGY_SINGLE);
    NVML(nvmlDeviceGetTopologyCommonAncestor(device_at(0), device_at(3), &level));
    CHECK(level == NVML_TOPOLOGY_NODE);
    NVML(nvmlDeviceGetTopologyCommonAncestor(device_at(7), device_at(3), &level));
    CHECK(level == NVML_TOPOLOGY_SYSTEM);
    unsigned count = 0;
    NVML(nvmlDeviceGetTopologyNearestGpus(device_at(2), NVML_TOPOLOGY_NODE, &count, nullptr));
    REQUIRE(count == 2);
    nvmlDevice_t near[2];
    NVML(nvmlDeviceGetTopologyNearestGpus(device_at(2), NVML_TOPOLOGY_NODE, &count, near));
    CHECK(near[0] == device_at(0));
    CHECK(near[1] == device_at(1));
    NVML(nvmlDeviceGetTopologyNearestGpus(device_at(2), NVML_TOPOLOGY_INTERNAL, &(count = 0), nullptr));
    CHECK(count == 0);
    nvmlIntNvLinkDeviceType_t remote;
    NVML(nvmlDeviceGetNvLinkRemoteDeviceType(device_at(0), 17, &remote));
    CHECK(remote == NVML_NVLINK_DEVICE_TYPE_SWITCH);
    CHECK(nvmlDeviceGetNvLinkRemoteDeviceType(device_at(0), 18, &remote) == NVML_ERROR_INVALID_ARGUMENT);
    nvmlGpuP2PStatus_t status;
    NVML(nvmlDeviceGetP2PStatus(device_at(0), device_at(7), NVML_P2P_CAPS_INDEX_NVLINK, &status));
    CHECK(status == NVML_P2P_STATUS_OK);
}

TEST_CASE("NVML without NVLink", "[nvml]") {
    ::box::knobs("GPUSIM_DEVICES=2 GPUSIM_TOPOLOGY=pcie");
    const nvmlDevice_t device = first_device();
    nvmlEnableState_t active;
    nvmlGpuP2PStatus_t status;
    CHECK(nvmlDeviceGetNvLinkState(device, 0, &active) == NVML_ERROR_NOT_SUPPORTED);
    NVML(nvmlDeviceGetP2PStatus(device, device_at(1), NVML_P2P_CAPS_INDEX_NVLINK, &status));
    CHECK(status == NVML_P2P_STATUS_NOT_SUPPORTED);
    NVML(nvmlDeviceGetP2PStatus(device, device_at(1), NVML_P2P_CAPS_INDEX_READ, &status));
    CHECK(status == NVML_P2P_STATUS_OK);
    CHECK(field(device, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, 0).nvmlReturn == NVML_ERROR_NOT_SUPPORTED);
    CHECK(field(device, NVML_FI_DEV_NVLINK_LINK_COUNT).value.uiVal == 0);
}

TEST_CASE("NVML's event sets: nothing happens, and waiting for it ends", "[nvml]") {
    const nvmlDevice_t device = first_device();
    nvmlEventSet_t set = nullptr;
    nvmlEventData_t data;
    NVML(nvmlEventSetCreate(&set));
    CHECK(nvmlDeviceRegisterEvents(device, nvmlEventTypeXidCriticalError, set) == NVML_SUCCESS);
    CHECK(nvmlDeviceRegisterEvents(device, nvmlEventTypeClock, set) == NVML_ERROR_NOT_SUPPORTED);
    CHECK(nvmlEventSetWait(set, &data, 5) == NVML_ERROR_TIMEOUT);
    NVML(nvmlEventSetFree(set));
    CHECK(nvmlEventSetWait(set, &data, 5) == NVML_ERROR_INVALID_ARGUMENT);
    CHECK(nvmlEventSetFree(set) == NVML_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("NVML reports no errors and nothing that can be set", "[nvml]") {
    const nvmlDevice_t device = first_device();
    unsigned present = 9, pending = 9, count = 9;
    unsigned long long errors = 9;
    NVML(nvmlDeviceGetMigMode(device, &present, &pending));
    CHECK(present == NVML_DEVICE_MIG_DISABLE);
    NVML(nvmlDeviceGetTotalEccErrors(device, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC, &errors));
    CHECK(errors == 0);
    NVML(nvmlDeviceGetRetiredPages(device, NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR, &count, nullptr));
    CHECK(count == 0);
    unsigned long cpus[16] = {};
    NVML(nvmlDeviceGetCpuAffinity(device, 16, cpus));
    CHECK((cpus[0] & 1) == 1);
}

}  // namespace nvml_test
