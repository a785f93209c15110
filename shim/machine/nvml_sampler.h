// Asks NVML, on a thread of its own: NVML's descriptors are the process's (nvml_library.h), the writer's are
// not; the loader's lock and NVML's answers can take long, and the rings are emptied meanwhile. It opens NVML
// when it is asked first, and then asks one device after the other. The observer asks and looks whether there
// is an answer; nobody waits for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "device.h"
#include "topology.h"

namespace gpushim::shim {

struct NvmlValue {
    int32_t device;  // its ordinal in this process
    const char* key;
    int64_t value;
};

struct NvmlAnswer {
    int64_t mono_ns;  // what it was asked for
    std::vector<NvmlValue> values;
    std::vector<Link> links;  // with the first answer only
    int64_t took_ns;          // the quick questions together
    bool there;               // false: no NVML, or it was shut down under us: nothing comes any more
};

// A thread of the program, when recording starts: the thread that is made has its descriptors. It lives until
// stop_nvml_sampler, and asks nothing before the observer wants something.
void start_nvml_sampler(std::span<const Device> devices);

// The writer's thread. None where it could not be started, or is from before a fork.
class NvmlSampler;
NvmlSampler* nvml_sampler();

// Bits of `devices`: their places in what the sampler was started with. Only when it owes no answer.
void ask_nvml(NvmlSampler& sampler, int64_t mono_ns, uint64_t devices);
bool has_answered(const NvmlSampler& sampler);
void wait_for_answer(NvmlSampler& sampler, int64_t most_ns);
NvmlAnswer& answer_of(NvmlSampler& sampler);  // once it has answered

// What was asked for when the program's exit handlers began, before NVML's own; the devices are those of the
// request before. Null: NVML was not open, or took too long. When the process ends; any thread.
const NvmlAnswer* last_answer_of(const NvmlSampler& sampler);

// Its thread ends as soon as it can; not waited for.
void stop_nvml_sampler();

}  // namespace gpushim::shim
