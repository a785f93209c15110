#include "topology.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <optional>

#include "../sqlite/rows.h"
#include "nvml_keys.h"

namespace gpushim::shim {
namespace {

constexpr int64_t kMega = 1'000'000;

const char* words_for(nvmlGpuTopologyLevel_t level) {
    switch (level) {
        case NVML_TOPOLOGY_INTERNAL:
            return "same board";
        case NVML_TOPOLOGY_SINGLE:
            return "one switch";
        case NVML_TOPOLOGY_MULTIPLE:
            return "several switches";
        case NVML_TOPOLOGY_HOSTBRIDGE:
            return "host bridge";
        case NVML_TOPOLOGY_NODE:
            return "NUMA node";
        default:
            return "system";
    }
}

// --- NVLink

// Indexed by nvmlNvlinkVersion_t.
constexpr const char* kNvLinks[] = {"nvlink",     "nvlink 1.0", "nvlink 2.0", "nvlink 2.2", "nvlink 3.0",
                                    "nvlink 3.1", "nvlink 4.0", "nvlink 5.0", "nvlink 6.0"};

struct NvLinks {
    struct End {
        bool is_switch;
        nvmlPciInfo_t at;
    };
    std::vector<End> ends;  // of the active links
    unsigned version = 0;
    int64_t mbytes_per_s = kNull;  // each of them
    nvmlPciInfo_t own = {};
    bool has_address = false;
};

std::optional<int64_t> field(const NvmlLibrary& library, nvmlDevice_t device, unsigned id, unsigned scope) {
    auto* ask = NVML_FUNCTION(library, nvmlDeviceGetFieldValues);
    FieldValue value(id, scope);
    if (ask == nullptr || ask(device, 1, &value) != NVML_SUCCESS || value.nvmlReturn != NVML_SUCCESS)
        return std::nullopt;
    return value.number();
}

void look_at_link(const NvmlLibrary& library, nvmlDevice_t device, unsigned link, NvLinks& links) {
    auto* state_of = NVML_FUNCTION(library, nvmlDeviceGetNvLinkState);
    auto* version_of = NVML_FUNCTION(library, nvmlDeviceGetNvLinkVersion);
    auto* type_of = NVML_FUNCTION(library, nvmlDeviceGetNvLinkRemoteDeviceType);
    auto* address_of = NVML_FUNCTION(library, nvmlDeviceGetNvLinkRemotePciInfo_v2);
    nvmlEnableState_t state = NVML_FEATURE_DISABLED;
    if (state_of == nullptr || state_of(device, link, &state) != NVML_SUCCESS) return;
    if (state != NVML_FEATURE_ENABLED) return;
    NvLinks::End end = {};
    nvmlIntNvLinkDeviceType_t type = NVML_NVLINK_DEVICE_TYPE_UNKNOWN;
    if (type_of != nullptr && type_of(device, link, &type) == NVML_SUCCESS)
        end.is_switch = type == NVML_NVLINK_DEVICE_TYPE_SWITCH;
    if (address_of != nullptr) address_of(device, link, &end.at);
    if (version_of != nullptr) version_of(device, link, &links.version);
    links.ends.push_back(end);
}

NvLinks nvlinks_of(const NvmlLibrary& library, nvmlDevice_t device) {
    NvLinks links;
    for (unsigned link = 0; link < NVML_NVLINK_MAX_LINKS; ++link) look_at_link(library, device, link, links);
    if (links.ends.empty()) return links;
    const auto speed = field(library, device, NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON, 0);
    if (speed && *speed > 0) links.mbytes_per_s = *speed;
    auto* address_of = NVML_FUNCTION(library, nvmlDeviceGetPciInfo_v3);
    links.has_address = address_of != nullptr && address_of(device, &links.own) == NVML_SUCCESS;
    return links;
}

bool same_place(const nvmlPciInfo_t& a, const nvmlPciInfo_t& b) {
    return a.domain == b.domain && a.bus == b.bus && a.device == b.device;
}

// Links from one to the other; where both hang on switches, as many as the poorer one has there.
int64_t links_to(const NvLinks& from, const NvLinks& to) {
    const auto is_switch = [](const NvLinks::End& end) { return end.is_switch; };
    const auto direct = std::count_if(from.ends.begin(), from.ends.end(), [&](const NvLinks::End& end) {
        return !end.is_switch && to.has_address && same_place(end.at, to.own);
    });
    const auto here = std::count_if(from.ends.begin(), from.ends.end(), is_switch);
    const auto there = std::count_if(to.ends.begin(), to.ends.end(), is_switch);
    return direct + std::min(here, there);
}

void add_nvlinks(const std::vector<NvLinks>& all, std::span<const Place> places, size_t a, size_t b,
                 std::vector<Link>& to) {
    const int64_t links = links_to(all[a], all[b]);
    if (links == 0) return;
    const size_t version = all[a].version < std::size(kNvLinks) ? all[a].version : 0;
    const int64_t each = all[a].mbytes_per_s;
    to.push_back(
        {places[a].id, places[b].id, kNvLinks[version], links, each == kNull ? kNull : links * each * kMega});
}

// --- the bus

void add_path(const NvmlLibrary& library, const Place& a, const Place& b, std::vector<Link>& to) {
    auto* ask = NVML_FUNCTION(library, nvmlDeviceGetTopologyCommonAncestor);
    nvmlGpuTopologyLevel_t level;
    if (ask == nullptr || ask(a.handle, b.handle, &level) != NVML_SUCCESS) return;
    to.push_back({a.id, b.id, words_for(level), kNull, kNull});
}

// Of a lane, by generation, after its line code.
constexpr int64_t kLaneMbytesPerS[] = {0, 250, 500, 985, 1969, 3938, 7563};

// The generation that device and slot can have: an idle device goes down to the first. The width is that of
// the slot it is in.
void add_pcie(const NvmlLibrary& library, const Place& place, std::vector<Link>& to) {
    auto* generation_of = NVML_FUNCTION(library, nvmlDeviceGetMaxPcieLinkGeneration);
    auto* width_of = NVML_FUNCTION(library, nvmlDeviceGetCurrPcieLinkWidth);
    unsigned generation = 0, width = 0;
    if (generation_of == nullptr || generation_of(place.handle, &generation) != NVML_SUCCESS) return;
    const bool has_width = width_of != nullptr && width_of(place.handle, &width) == NVML_SUCCESS && width > 0;
    const bool is_known = has_width && generation < std::size(kLaneMbytesPerS);
    to.push_back({place.id, kHost, "pcie " + std::to_string(generation), has_width ? int64_t{width} : kNull,
                  is_known ? width * kLaneMbytesPerS[generation] * kMega : kNull});
}

// --- the host

// "0-31,64-95"
std::string list_of_bits(std::span<const unsigned long> words) {
    constexpr size_t kBits = 8 * sizeof words[0];
    const auto is_set = [&](size_t bit) {
        return bit < words.size() * kBits && (words[bit / kBits] >> bit % kBits & 1) != 0;
    };
    std::string text;
    for (size_t bit = 0; bit < words.size() * kBits; ++bit) {
        if (!is_set(bit)) continue;
        const size_t first = bit;
        while (is_set(bit + 1)) ++bit;
        text += (text.empty() ? "" : ",") + std::to_string(first);
        if (bit > first) text += "-" + std::to_string(bit);
    }
    return text;
}

void add_near(const NvmlLibrary& library, const Place& place, std::vector<Link>& to) {
    const auto add = [&](const char* what, std::span<const unsigned long> words) {
        const std::string list = list_of_bits(words);
        if (!list.empty()) to.push_back({place.id, kHost, what + list, kNull, kNull});
    };
    unsigned long words[64] = {};
    auto* memory = NVML_FUNCTION(library, nvmlDeviceGetMemoryAffinity);
    if (memory != nullptr && memory(place.handle, 16, words, NVML_AFFINITY_SCOPE_NODE) == NVML_SUCCESS)
        add("numa node ", words);
    std::fill(std::begin(words), std::end(words), 0);
    auto* cpus = NVML_FUNCTION(library, nvmlDeviceGetCpuAffinity);
    if (cpus != nullptr && cpus(place.handle, std::size(words), words) == NVML_SUCCESS) add("cpus ", words);
}

std::vector<Place> all_places(const NvmlLibrary& library) {
    auto* count_of = NVML_FUNCTION(library, nvmlDeviceGetCount_v2);
    auto* device_at = NVML_FUNCTION(library, nvmlDeviceGetHandleByIndex_v2);
    unsigned count = 0;
    std::vector<Place> places;
    if (count_of == nullptr || device_at == nullptr || count_of(&count) != NVML_SUCCESS) return places;
    for (unsigned i = 0; i < count; ++i) {
        nvmlDevice_t device = nullptr;
        if (device_at(i, &device) == NVML_SUCCESS) places.push_back({static_cast<int32_t>(i), device});
    }
    return places;
}

int64_t or_none(int64_t number) { return number == kNull ? -1 : number; }

}  // namespace

std::vector<Link> links_between(const NvmlLibrary& library, std::span<const Place> places) {
    std::vector<Link> links;
    std::vector<NvLinks> nvlinks;
    for (const Place& place : places) {
        add_pcie(library, place, links);
        add_near(library, place, links);
        nvlinks.push_back(nvlinks_of(library, place.handle));
    }
    for (size_t a = 0; a < places.size(); ++a) {
        for (size_t b = 0; b < places.size(); ++b) {
            if (a == b) continue;
            add_nvlinks(nvlinks, places, a, b, links);
            add_path(library, places[a], places[b], links);
        }
    }
    return links;
}

}  // namespace gpushim::shim

int gpushim_topology(void (*take)(void* to, int device, int peer, const char* how, int64_t links,
                                  int64_t bytes_per_s),
                     void* to) {
    using namespace gpushim::shim;
    NvmlLibrary library;
    if (!library.open()) return -1;
    const std::vector<Place> places = all_places(library);
    for (const Place& place : places) {
        char name[256] = "";
        auto* name_of = NVML_FUNCTION(library, nvmlDeviceGetName);
        if (name_of != nullptr) name_of(place.handle, name, sizeof name);
        take(to, place.id, kHost, name, -2, -1);
    }
    for (const Link& link : links_between(library, places))
        take(to, link.device, link.peer, link.how.c_str(), or_none(link.links), or_none(link.bytes_per_s));
    return static_cast<int>(places.size());
}
