#include <dlfcn.h>
#include <nvml.h>

#include <climits>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/box_state.h"
#include "engine/clock.h"
#include "engine/device_facts.h"
#include "other_process.h"
#include "own_box.h"

using namespace gpusim;

#define NVML(call) REQUIRE((call) == NVML_SUCCESS)

namespace {

constexpr Ns kMs = 1'000'000;

nvmlDevice_t device_at(unsigned index) {
    nvmlDevice_t device = nullptr;
    NVML(nvmlDeviceGetHandleByIndex(index, &device));
    return device;
}

nvmlDevice_t first_device() {
    NVML(nvmlInit());
    return device_at(0);
}

// Moves virtual time to a multiple of a second from which the timeline of a case is counted.
Ns start_of_a_second() {
    const Ns start = 10'000 * kMs;
    clock::work_until(start);
    return start;
}

nvmlFieldValue_t field(nvmlDevice_t device, unsigned id, unsigned scope = 0) {
    nvmlFieldValue_t value{};
    value.fieldId = id;
    value.scopeId = scope;
    NVML(nvmlDeviceGetFieldValues(device, 1, &value));
    return value;
}

}  // namespace

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
    with_knobs("GPUSIM_DEVICES=3 GPUSIM_NAME=Z9");
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
    with_knobs("GPUSIM_DEVICES=2");
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

// compute |###..|...##|           two stretches of 150 and 100 ms in the second before `now`
//    copy |..#..|.....|           100 ms
TEST_CASE("NVML's utilisation is the share of the last second in which operations ran", "[nvml]") {
    OwnBox own("GPUSIM_CLOCK=stepped GPUSIM_POWER_W=470 GPUSIM_TEMP_C=70 GPUSIM_SM_MHZ=1500");
    const nvmlDevice_t device = first_device();
    const Ns start = start_of_a_second();
    nvmlUtilization_t rates;
    unsigned number = 0;
    unsigned long long reasons = 0;
    NVML(nvmlDeviceGetUtilizationRates(device, &rates));
    CHECK(rates.gpu == 0);
    NVML(nvmlDeviceGetPowerUsage(device, &number));
    CHECK(number == 70'000);
    NVML(nvmlDeviceGetClockInfo(device, NVML_CLOCK_SM, &number));
    CHECK(number == 345);
    NVML(nvmlDeviceGetCurrentClocksEventReasons(device, &reasons));
    CHECK(reasons == nvmlClocksEventReasonGpuIdle);

    box::count_busy(0, Engine::compute, start, start + 150 * kMs);
    box::count_busy(0, Engine::copy, start + 100 * kMs, start + 200 * kMs);
    box::count_busy(0, Engine::compute, start + 800 * kMs, start + 900 * kMs);
    clock::work_until(start + 1000 * kMs);
    NVML(nvmlDeviceGetUtilizationRates(device, &rates));
    CHECK(rates.gpu == 25);
    CHECK(rates.memory == 10);
    NVML(nvmlDeviceGetPowerUsage(device, &number));
    CHECK(number == 70'000 + 400'000 / 4);
    NVML(nvmlDeviceGetTemperature(device, NVML_TEMPERATURE_GPU, &number));
    CHECK(number == 40);
    NVML(nvmlDeviceGetClockInfo(device, NVML_CLOCK_SM, &number));
    CHECK(number == 1500);
    NVML(nvmlDeviceGetMaxClockInfo(device, NVML_CLOCK_SM, &number));
    CHECK(number == 1980);
    NVML(nvmlDeviceGetCurrentClocksEventReasons(device, &reasons));
    CHECK(reasons == nvmlClocksEventReasonNone);

    clock::work_until(start + 2000 * kMs);
    NVML(nvmlDeviceGetUtilizationRates(device, &rates));
    CHECK(rates.gpu == 0);
}

TEST_CASE("NVML's energy grows with time, and faster while the device is busy", "[nvml]") {
    OwnBox own("GPUSIM_CLOCK=stepped GPUSIM_POWER_W=470");
    const nvmlDevice_t device = first_device();
    const Ns start = start_of_a_second();
    unsigned long long before = 0, after = 0;
    NVML(nvmlDeviceGetTotalEnergyConsumption(device, &before));
    clock::work_until(start + 1000 * kMs);
    NVML(nvmlDeviceGetTotalEnergyConsumption(device, &after));
    CHECK(after - before == 70'000);
    box::count_busy(0, Engine::compute, start + 1000 * kMs, start + 2000 * kMs);
    clock::work_until(start + 2000 * kMs);
    NVML(nvmlDeviceGetTotalEnergyConsumption(device, &before));
    CHECK(before - after == 470'000);
}

TEST_CASE("NVML's samples are the stretches of the timeline", "[nvml]") {
    OwnBox own("GPUSIM_CLOCK=stepped");
    const nvmlDevice_t device = first_device();
    const Ns start = start_of_a_second();
    box::count_busy(0, Engine::compute, start, start + 150 * kMs);
    clock::work_until(start + 1000 * kMs);
    nvmlValueType_t type;
    unsigned count = 0;
    NVML(nvmlDeviceGetSamples(device, NVML_GPU_UTILIZATION_SAMPLES, 0, &type, &count, nullptr));
    REQUIRE(count == 10);
    std::vector<nvmlSample_t> samples(count);
    NVML(nvmlDeviceGetSamples(device, NVML_GPU_UTILIZATION_SAMPLES, 0, &type, &count, samples.data()));
    CHECK(type == NVML_VALUE_TYPE_UNSIGNED_INT);
    for (unsigned i = 0; i < count; ++i)
        CHECK(samples[i].sampleValue.uiVal == (i == 0 ? 100U : i == 1 ? 50U : 0U));
    CHECK(samples[1].timeStamp - samples[0].timeStamp == 100'000);
    const auto seen = samples[7].timeStamp;
    NVML(nvmlDeviceGetSamples(device, NVML_GPU_UTILIZATION_SAMPLES, seen, &type, &count, samples.data()));
    CHECK(count == 2);
    CHECK(nvmlDeviceGetSamples(device, NVML_GPU_UTILIZATION_SAMPLES, samples[1].timeStamp, &type, &count,
                               samples.data()) == NVML_ERROR_NOT_FOUND);
    CHECK(nvmlDeviceGetSamples(device, NVML_ENC_UTILIZATION_SAMPLES, 0, &type, &count, nullptr) ==
          NVML_ERROR_NOT_SUPPORTED);
}

TEST_CASE("NVML shows memory and pid of another process until it dies", "[nvml]") {
    OwnBox own("GPUSIM_DEVICES=2 GPUSIM_MEMORY_GB=1");
    OtherProcess other([] { box::take_memory(1, 300 << 20); });
    NVML(nvmlInit());
    nvmlMemory_t memory;
    NVML(nvmlDeviceGetMemoryInfo(device_at(1), &memory));
    CHECK(memory.total == 1ULL << 30);
    CHECK(memory.used == 300ULL << 20);
    CHECK(memory.free == 724ULL << 20);
    NVML(nvmlDeviceGetMemoryInfo(device_at(0), &memory));
    CHECK(memory.used == 0);

    unsigned count = 0;
    CHECK(nvmlDeviceGetComputeRunningProcesses(device_at(1), &count, nullptr) ==
          NVML_ERROR_INSUFFICIENT_SIZE);
    REQUIRE(count == 1);
    nvmlProcessInfo_t process;
    NVML(nvmlDeviceGetComputeRunningProcesses(device_at(1), &count, &process));
    CHECK(process.pid == static_cast<unsigned>(other.pid()));
    CHECK(process.usedGpuMemory == 300ULL << 20);
    CHECK(process.gpuInstanceId == UINT_MAX);
    char name[4096];
    NVML(nvmlSystemGetProcessName(process.pid, name, sizeof name));
    CHECK(name == std::filesystem::read_symlink("/proc/self/exe"));
    count = 1;
    NVML(nvmlDeviceGetComputeRunningProcesses(device_at(0), &count, &process));
    CHECK(count == 0);

    other.kill_now();
    NVML(nvmlDeviceGetMemoryInfo(device_at(1), &memory));
    CHECK(memory.used == 0);
    count = 1;
    NVML(nvmlDeviceGetComputeRunningProcesses(device_at(1), &count, &process));
    CHECK(count == 0);
}

TEST_CASE("NVML tells how busy each process kept the device", "[nvml]") {
    OwnBox own("GPUSIM_CLOCK=stepped");
    OtherProcess other([] { box::count_busy(0, Engine::compute, 10'500 * kMs, 10'700 * kMs); });
    const nvmlDevice_t device = first_device();
    const Ns start = start_of_a_second();
    box::count_busy(0, Engine::compute, start, start + 300 * kMs);
    clock::work_until(start + 1000 * kMs);
    unsigned count = 0;
    CHECK(nvmlDeviceGetProcessUtilization(device, nullptr, &count, 0) == NVML_ERROR_INSUFFICIENT_SIZE);
    REQUIRE(count == 2);
    nvmlProcessUtilizationSample_t samples[2];
    NVML(nvmlDeviceGetProcessUtilization(device, samples, &count, 0));
    const bool other_first = samples[0].pid == static_cast<unsigned>(other.pid());
    CHECK(samples[other_first ? 0 : 1].pid == static_cast<unsigned>(other.pid()));
    CHECK(samples[other_first ? 0 : 1].smUtil == 20);
    CHECK(samples[other_first ? 1 : 0].pid == static_cast<unsigned>(getpid()));
    CHECK(samples[other_first ? 1 : 0].smUtil == 30);
    nvmlUtilization_t rates;
    NVML(nvmlDeviceGetUtilizationRates(device, &rates));
    CHECK(rates.gpu == 50);
    CHECK(nvmlDeviceGetProcessUtilization(device, samples, &count, samples[0].timeStamp) ==
          NVML_ERROR_NOT_FOUND);
}

TEST_CASE("NVML counts bytes over PCIe and NVLink", "[nvml]") {
    OwnBox own("GPUSIM_CLOCK=stepped");
    const nvmlDevice_t device = first_device();
    const Ns start = start_of_a_second();
    unsigned kb = 0;
    box::count_bytes(0, 0, 500'000);  // before anybody asks
    NVML(nvmlDeviceGetPcieThroughput(device, NVML_PCIE_UTIL_RX_BYTES, &kb));
    CHECK(kb == 0);
    NVML(nvmlDeviceGetPcieThroughput(device, NVML_PCIE_UTIL_TX_BYTES, &kb));
    box::count_bytes(0, 0, 6'000'000);
    box::count_bytes(0, 1, 2'000'000);
    box::count_bytes(0, 2, 18 * 4096);
    clock::work_until(start + 2000 * kMs);
    NVML(nvmlDeviceGetPcieThroughput(device, NVML_PCIE_UTIL_RX_BYTES, &kb));
    CHECK(kb == 3000);
    NVML(nvmlDeviceGetPcieThroughput(device, NVML_PCIE_UTIL_TX_BYTES, &kb));
    CHECK(kb == 1000);
    CHECK(field(device, NVML_FI_DEV_PCIE_COUNT_RX_BYTES).value.ullVal == 6'500'000);
    CHECK(field(device, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, 5).value.ullVal == 4);
    CHECK(field(device, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, UINT_MAX).value.ullVal == 18 * 4);
    CHECK(field(device, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, 18).nvmlReturn == NVML_ERROR_NOT_SUPPORTED);
    CHECK(field(device, NVML_FI_DEV_NVLINK_LINK_COUNT).value.uiVal == 18);
    unsigned long long received = 0, sent = 0;
    NVML(nvmlDeviceGetNvLinkUtilizationCounter(device, 3, 0, &received, &sent));
    CHECK(received == 4096);
    CHECK(sent == 4096);
}

TEST_CASE("NVML's field values answer one by one", "[nvml]") {
    OwnBox own("GPUSIM_CLOCK=stepped");
    const nvmlDevice_t device = first_device();
    nvmlFieldValue_t values[3]{};
    values[0].fieldId = NVML_FI_DEV_MEMORY_TEMP;
    values[1].fieldId = NVML_FI_PWR_SMOOTHING_ENABLED;
    values[2].fieldId = NVML_FI_DEV_POWER_INSTANT;
    NVML(nvmlDeviceGetFieldValues(device, 3, values));
    CHECK(values[0].nvmlReturn == NVML_SUCCESS);
    CHECK(values[0].valueType == NVML_VALUE_TYPE_UNSIGNED_INT);
    CHECK(values[0].value.uiVal == 38);
    CHECK(values[1].nvmlReturn == NVML_ERROR_NOT_SUPPORTED);
    CHECK(values[2].value.uiVal == 70'000);
    CHECK(values[0].timestamp == (clock::now() + clock::calendar_ahead()) / 1000);
    CHECK(nvmlDeviceGetFieldValues(device, 0, values) == NVML_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("NVML says why clocks are held back, where a knob does", "[nvml]") {
    OwnBox own("GPUSIM_CLOCK=stepped GPUSIM_THROTTLE=4");
    const nvmlDevice_t device = first_device();
    const Ns start = start_of_a_second();
    box::count_busy(0, Engine::compute, start, start + 300 * kMs);
    clock::work_until(start + 1000 * kMs);
    unsigned long long reasons = 0;
    NVML(nvmlDeviceGetCurrentClocksEventReasons(device, &reasons));
    CHECK(reasons == nvmlClocksEventReasonSwPowerCap);
    nvmlViolationTime_t time;
    NVML(nvmlDeviceGetViolationStatus(device, NVML_PERF_POLICY_POWER, &time));
    CHECK(time.violationTime == 300 * kMs);
    NVML(nvmlDeviceGetViolationStatus(device, NVML_PERF_POLICY_THERMAL, &time));
    CHECK(time.violationTime == 0);
}

TEST_CASE("NVML's topology: links to a switch, pairs on a PCIe switch, four on a node", "[nvml]") {
    with_knobs("GPUSIM_DEVICES=8");
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
    with_knobs("GPUSIM_DEVICES=2 GPUSIM_TOPOLOGY=pcie");
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
