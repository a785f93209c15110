#include "kineto_head.h"

#include <variant>

#include "kineto_values.h"

namespace gpushim::analysis {

namespace {

template <class Owner>
using HeadField =
    std::variant<std::optional<int64_t> Owner::*, std::optional<bool> Owner::*, std::string Owner::*>;

template <class Owner>
struct Member {
    std::string_view key;
    HeadField<Owner> field;
};

constexpr Member<KinetoHead> kTop[] = {
    {"schemaVersion", &KinetoHead::schema_version},
    {"baseTimeNanoseconds", &KinetoHead::base_time_ns},
    {"displayTimeUnit", &KinetoHead::display_time_unit},
    {"trace_id", &KinetoHead::trace_id},
    {"traceName", &KinetoHead::trace_name},
    {"host_name", &KinetoHead::host_name},
    {"hostname", &KinetoHead::host_name},
    {"cupti_version", &KinetoHead::cupti_version},
    {"cuda_runtime_version", &KinetoHead::cuda_runtime_version},
    {"cuda_driver_version", &KinetoHead::cuda_driver_version},
    {"with_flops", &KinetoHead::with_flops},
    {"with_stack", &KinetoHead::with_stack},
    {"with_modules", &KinetoHead::with_modules},
    {"record_shapes", &KinetoHead::record_shapes},
    {"profile_memory", &KinetoHead::profile_memory},
};
constexpr Member<KinetoHead> kDistributed[] = {
    {"rank", &KinetoHead::rank},
    {"world_size", &KinetoHead::world_size},
    {"backend", &KinetoHead::backend},
    {"nccl_version", &KinetoHead::nccl_version},
    {"pg_config", &KinetoHead::groups_json},
    {"pg_count", &KinetoHead::group_count},
};
constexpr Member<KinetoDevice> kDevice[] = {
    {"id", &KinetoDevice::id},
    {"name", &KinetoDevice::name},
    {"totalGlobalMem", &KinetoDevice::memory_bytes},
    {"computeMajor", &KinetoDevice::compute_major},
    {"computeMinor", &KinetoDevice::compute_minor},
    {"numSms", &KinetoDevice::sm_count},
    {"maxThreadsPerMultiprocessor", &KinetoDevice::max_threads_per_sm},
    {"sharedMemPerMultiprocessor", &KinetoDevice::shared_memory_per_sm_bytes},
    {"regsPerMultiprocessor", &KinetoDevice::registers_per_sm},
};
constexpr size_t kMostDevices = 1024;  // of one host; a list of empty ones must not fill the memory
constexpr std::string_view kDevices = "deviceProperties", kInfo = "distributedInfo";

template <class Owner, size_t n>
const Member<Owner>* find(const Member<Owner> (&members)[n], std::string_view key) {
    for (const auto& member : members)
        if (member.key == key) return &member;
    return nullptr;
}

// The members of an object that are in the table; whatever is no object is skipped.
template <class Owner, size_t n>
bool read_object(JsonScanner& json, ValueReader& values, const Member<Owner> (&members)[n], Owner& owner) {
    if (json.peek() != '{') return json.skip(), false;
    std::string_view key;
    json.enter('{');
    while (json.next_member(key)) {
        if (const auto* known = find(members, key))
            std::visit([&](const auto field) { values.read(owner.*field); }, known->field);
        else
            json.skip();
    }
    return true;
}

uint64_t read_devices(JsonScanner& json, ValueReader& values, KinetoHead& head) {
    if (json.peek() != '[') return json.skip(), 1;
    uint64_t ignored = 0;
    head.devices.clear();
    json.enter('[');
    while (json.next_item()) {
        KinetoDevice device;
        const bool is_device = read_object(json, values, kDevice, device);
        if (is_device && head.devices.size() < kMostDevices)
            head.devices.push_back(std::move(device));
        else
            ++ignored;
    }
    return ignored;
}

}  // namespace

bool is_head_key(std::string_view key) {
    return key == kDevices || key == kInfo || find(kTop, key) != nullptr;
}

void read_head_value(JsonScanner& json, std::string_view key, KinetoHead& head) {
    ValueReader values(json);
    uint64_t ignored = 0;
    if (key == kDevices)
        ignored += read_devices(json, values, head);
    else if (key == kInfo)
        ignored += !read_object(json, values, kDistributed, head);
    else if (const auto* known = find(kTop, key))
        std::visit([&](const auto field) { values.read(head.*field); }, known->field);
    // Where the text is cut off the value is read again, over what was read of it now.
    if (!json.cut() && !json.wrong()) head.values_ignored += ignored + values.ignored();
}

}  // namespace gpushim::analysis
