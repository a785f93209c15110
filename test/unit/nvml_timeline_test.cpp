// What the box's NVML works out from the box's timeline and from what its processes hold.
#include <climits>
#include <filesystem>
#include <string>
#include <vector>

#include "box.h"
#include "engine/box_state.h"
#include "engine/clock.h"
#include "nvml_device.h"
#include "other_process.h"

namespace nvml_timeline_test {

using namespace gpusim;

namespace {

constexpr Ns kMs = 1'000'000;

// Moves virtual time to a multiple of a second from which the timeline of a case is counted.
Ns start_of_a_second() {
    const Ns start = 10'000 * kMs;
    clock::work_until(start);
    return start;
}

}  // namespace

// compute |###..|...##|           two stretches of 150 and 100 ms in the second before `now`
//    copy |..#..|.....|           100 ms
TEST_CASE("NVML's utilisation is the share of the last second in which operations ran", "[nvml]") {
    ::box::knobs("GPUSIM_CLOCK=stepped GPUSIM_POWER_W=470 GPUSIM_TEMP_C=70 GPUSIM_SM_MHZ=1500");
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

    gpusim::box::count_busy(0, Engine::compute, start, start + 150 * kMs);
    gpusim::box::count_busy(0, Engine::copy, start + 100 * kMs, start + 200 * kMs);
    gpusim::box::count_busy(0, Engine::compute, start + 800 * kMs, start + 900 * kMs);
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
    ::box::knobs("GPUSIM_CLOCK=stepped GPUSIM_POWER_W=470");
    const nvmlDevice_t device = first_device();
    const Ns start = start_of_a_second();
    unsigned long long before = 0, after = 0;
    NVML(nvmlDeviceGetTotalEnergyConsumption(device, &before));
    clock::work_until(start + 1000 * kMs);
    NVML(nvmlDeviceGetTotalEnergyConsumption(device, &after));
    CHECK(after - before == 70'000);
    gpusim::box::count_busy(0, Engine::compute, start + 1000 * kMs, start + 2000 * kMs);
    clock::work_until(start + 2000 * kMs);
    NVML(nvmlDeviceGetTotalEnergyConsumption(device, &before));
    CHECK(before - after == 470'000);
}

TEST_CASE("NVML's samples are the stretches of the timeline", "[nvml]") {
    ::box::knobs("GPUSIM_CLOCK=stepped");
    const nvmlDevice_t device = first_device();
    const Ns start = start_of_a_second();
    gpusim::box::count_busy(0, Engine::compute, start, start + 150 * kMs);
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

TEST_CASE("NVML shows memory and pid of another process until it dies", "[nvml][no_emulator]") {
    ::box::knobs("GPUSIM_DEVICES=2 GPUSIM_MEMORY_GB=1");
    OtherProcess other([] { gpusim::box::take_memory(1, 300 << 20); });
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
    ::box::knobs("GPUSIM_CLOCK=stepped");
    OtherProcess other([] { gpusim::box::count_busy(0, Engine::compute, 10'500 * kMs, 10'700 * kMs); });
    const nvmlDevice_t device = first_device();
    const Ns start = start_of_a_second();
    gpusim::box::count_busy(0, Engine::compute, start, start + 300 * kMs);
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
    ::box::knobs("GPUSIM_CLOCK=stepped");
    const nvmlDevice_t device = first_device();
    const Ns start = start_of_a_second();
    unsigned kb = 0;
    gpusim::box::count_bytes(0, 0, 500'000);  // before anybody asks
    NVML(nvmlDeviceGetPcieThroughput(device, NVML_PCIE_UTIL_RX_BYTES, &kb));
    CHECK(kb == 0);
    NVML(nvmlDeviceGetPcieThroughput(device, NVML_PCIE_UTIL_TX_BYTES, &kb));
    gpusim::box::count_bytes(0, 0, 6'000'000);
    gpusim::box::count_bytes(0, 1, 2'000'000);
    gpusim::box::count_bytes(0, 2, 18 * 4096);
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
    ::box::knobs("GPUSIM_CLOCK=stepped");
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
    ::box::knobs("GPUSIM_CLOCK=stepped GPUSIM_THROTTLE=4");
    const nvmlDevice_t device = first_device();
    const Ns start = start_of_a_second();
    gpusim::box::count_busy(0, Engine::compute, start, start + 300 * kMs);
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

}  // namespace nvml_timeline_test
