// How busy a device was: now, lately in samples, and by process.
#include <array>
#include <cmath>
#include <vector>

#include "condition.h"
#include "device.h"
#include "engine/box_state.h"

using namespace gpusim;
using namespace gpusim::nvml;

namespace {

constexpr int kSamples = 10;  // one per bin of the box's timeline, over the last second

nvmlReturn_t never_busy(nvmlDevice_t device, unsigned* percent, unsigned* period_us) {
    if (index_of(device) < 0 || percent == nullptr || period_us == nullptr)
        return NVML_ERROR_INVALID_ARGUMENT;
    *percent = 0;
    *period_us = kSamplePeriodNs / 1000;
    return NVML_SUCCESS;
}

bool has_samples(nvmlSamplingType_t type) {
    return type == NVML_TOTAL_POWER_SAMPLES || type == NVML_GPU_UTILIZATION_SAMPLES ||
           type == NVML_MEMORY_UTILIZATION_SAMPLES || type == NVML_PROCESSOR_CLK_SAMPLES ||
           type == NVML_MEMORY_CLK_SAMPLES;
}

unsigned sampled(nvmlSamplingType_t type, const Condition& c) {
    if (type == NVML_TOTAL_POWER_SAMPLES) return c.power_mw;
    if (type == NVML_GPU_UTILIZATION_SAMPLES) return c.busy_percent;
    if (type == NVML_MEMORY_UTILIZATION_SAMPLES) return c.copy_percent;
    return type == NVML_PROCESSOR_CLK_SAMPLES ? c.sm_mhz : c.memory_mhz;
}

// Ends of the newest complete bins, oldest first, that a caller who has seen `seen_us` has not seen.
std::vector<Ns> bin_ends(unsigned long long seen_us) {
    std::vector<Ns> ends;
    const Ns last = box_now() / kBinNs;
    for (Ns bin = last - kSamples + 1; bin <= last; ++bin)
        if (bin > 0 && calendar_us(bin * kBinNs) > seen_us) ends.push_back(bin * kBinNs);
    return ends;
}

unsigned percent(double share) { return static_cast<unsigned>(std::lround(share * 100)); }

template <class Sample>
Sample process_sample(const ProcessUse& p, int device, Ns now) {
    Sample s{};
    s.pid = static_cast<unsigned>(p.pid.load());
    s.timeStamp = calendar_us(now);
    s.smUtil = percent(box::busy_share(p, device, Engine::compute, now, kSamplePeriodNs));
    s.memUtil = percent(box::busy_share(p, device, Engine::copy, now, kSamplePeriodNs));
    return s;
}

// One for each process that was busy since `seen_us`.
template <class Sample>
std::vector<Sample> process_samples(int device, unsigned long long seen_us) {
    std::vector<Sample> samples;
    const Ns now = box_now() / kBinNs * kBinNs;
    if (calendar_us(now) <= seen_us) return samples;
    box::each_process([&](const ProcessUse& p) {
        const auto sample = process_sample<Sample>(p, device, now);
        if (sample.smUtil > 0 || sample.memUtil > 0) samples.push_back(sample);
    });
    return samples;
}

template <class Sample>
nvmlReturn_t by_process(nvmlDevice_t device, Sample* out, unsigned* count, unsigned long long seen_us) {
    const int index = index_of(device);
    if (index < 0 || count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const auto samples = process_samples<Sample>(index, seen_us);
    if (samples.empty()) *count = 0;
    if (samples.empty()) return NVML_ERROR_NOT_FOUND;
    if (out == nullptr) *count = 0;  // asks how many
    return answer_list(count, out, static_cast<unsigned>(samples.size()),
                       [&](unsigned i) { return samples[i]; });
}

}  // namespace

IMPLEMENT(nvmlDeviceGetUtilizationRates)(nvmlDevice_t device, nvmlUtilization_t* utilization) {
    return answer(device, utilization, [](int i) {
        const Condition c = condition(i);
        return nvmlUtilization_t{c.busy_percent, c.copy_percent};
    });
}

IMPLEMENT(nvmlDeviceGetEncoderUtilization)(nvmlDevice_t device, unsigned* percent, unsigned* period_us) {
    return never_busy(device, percent, period_us);
}
IMPLEMENT(nvmlDeviceGetDecoderUtilization)(nvmlDevice_t device, unsigned* percent, unsigned* period_us) {
    return never_busy(device, percent, period_us);
}
IMPLEMENT(nvmlDeviceGetSamples)
(nvmlDevice_t device, nvmlSamplingType_t type, unsigned long long seen_us, nvmlValueType_t* value_type,
 unsigned* count, nvmlSample_t* samples) {
    const int index = index_of(device);
    if (index < 0 || count == nullptr || value_type == nullptr || (samples != nullptr && *count == 0))
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!has_samples(type)) return NVML_ERROR_NOT_SUPPORTED;
    *value_type = NVML_VALUE_TYPE_UNSIGNED_INT;
    const auto ends = bin_ends(seen_us);
    const auto there = static_cast<unsigned>(ends.size());
    *count = samples == nullptr ? there : std::min(*count, there);
    if (there == 0) return NVML_ERROR_NOT_FOUND;
    for (unsigned i = 0; samples != nullptr && i < *count; ++i) {
        samples[i].timeStamp = calendar_us(ends[i]);
        samples[i].sampleValue.uiVal = sampled(type, condition(index, ends[i], kBinNs));
    }
    return NVML_SUCCESS;
}

IMPLEMENT(nvmlDeviceGetProcessUtilization)
(nvmlDevice_t device, nvmlProcessUtilizationSample_t* samples, unsigned* count, unsigned long long seen_us) {
    return by_process(device, samples, count, seen_us);
}

IMPLEMENT(nvmlDeviceGetProcessesUtilizationInfo)(nvmlDevice_t device, nvmlProcessesUtilizationInfo_t* info) {
    if (info == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (info->version != nvmlProcessesUtilizationInfo_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    return by_process(device, info->procUtilArray, &info->processSamplesCount, info->lastSeenTimeStamp);
}
