#include "links.h"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "device.h"
#include "engine/box_state.h"
#include "engine/device_facts.h"
#include "engine/knobs.h"
#include "values.h"

using namespace gpusim;
using namespace gpusim::nvml;

namespace {

bool read_topology() {
    const auto& text = knobs().topology;
    if (text != "nvlink" && text != "pcie") {
        std::fprintf(stderr, "gpusim: GPUSIM_TOPOLOGY=%s is neither nvlink nor pcie\n", text.c_str());
        std::_Exit(2);
    }
    return text == "nvlink";
}

// What a PCIe counter was when it was asked last.
struct Reading {
    Ns at_ns = 0;
    unsigned long long bytes = 0;
    unsigned kb_per_s = 0;
};

// The first reading has nothing to compare with and says 0.
unsigned read_throughput(int device, bool sent) {
    static std::mutex mutex;
    static Reading readings[kMaxDevices][2];
    const std::lock_guard guard(mutex);
    Reading& last = readings[device][sent ? 1 : 0];
    const Ns now = box_now();
    const auto bytes = pcie_bytes(device, sent);
    if (last.at_ns > 0 && now > last.at_ns)
        last.kb_per_s = static_cast<unsigned>(static_cast<double>(bytes - last.bytes) /
                                              static_cast<double>(now - last.at_ns) * 1e6);
    if (now > last.at_ns) last = {now, bytes, last.kb_per_s};
    return last.kb_per_s;
}

// *out = value(device), where the link is one.
template <class Out, class Value>
nvmlReturn_t link_answer(nvmlDevice_t device, unsigned link, Out* out, Value value) {
    if (index_of(device) >= 0 && !has_links()) return NVML_ERROR_NOT_SUPPORTED;
    return link < facts::kLinkCount ? answer(device, out, value) : NVML_ERROR_INVALID_ARGUMENT;
}

// The switch at the far end of a link.
nvmlPciInfo_t switch_address(unsigned link) {
    constexpr unsigned kFirstBus = 0xc0, kSwitches = 4, kPciDeviceId = 0x000110de;
    nvmlPciInfo_t info{};
    info.bus = kFirstBus + link % kSwitches;
    info.pciDeviceId = kPciDeviceId;
    std::snprintf(info.busId, sizeof info.busId, NVML_DEVICE_PCI_BUS_ID_FMT, 0U, info.bus, 0U);
    std::snprintf(info.busIdLegacy, sizeof info.busIdLegacy, NVML_DEVICE_PCI_BUS_ID_LEGACY_FMT, 0U, info.bus,
                  0U);
    return info;
}

}  // namespace

namespace gpusim::nvml {

bool has_links() {
    static const bool has = read_topology();
    return has;
}

std::optional<unsigned long long> link_bytes(int device, unsigned link) {
    if (!has_links() || (link >= facts::kLinkCount && link != UINT_MAX)) return std::nullopt;
    const auto all = static_cast<unsigned long long>(box::bytes(device, 2));
    return link == UINT_MAX ? all : all / facts::kLinkCount;
}

unsigned long long pcie_bytes(int device, bool sent) {
    return static_cast<unsigned long long>(box::bytes(device, sent ? 1 : 0));
}

}  // namespace gpusim::nvml

IMPLEMENT(nvmlDeviceGetPcieThroughput)
(nvmlDevice_t device, nvmlPcieUtilCounter_t counter, unsigned* kb_per_s) {
    if (counter >= NVML_PCIE_UTIL_COUNT) return NVML_ERROR_INVALID_ARGUMENT;
    return answer(device, kb_per_s,
                  [counter](int i) { return read_throughput(i, counter == NVML_PCIE_UTIL_TX_BYTES); });
}

IMPLEMENT(nvmlDeviceGetNvLinkState)(nvmlDevice_t device, unsigned link, nvmlEnableState_t* active) {
    return link_answer(device, link, active, [](int) { return NVML_FEATURE_ENABLED; });
}

IMPLEMENT(nvmlDeviceGetNvLinkVersion)(nvmlDevice_t device, unsigned link, unsigned* version) {
    return link_answer(device, link, version, [](int) { return values::kLinkVersion; });
}

IMPLEMENT(nvmlDeviceGetNvLinkRemotePciInfo_v2)(nvmlDevice_t device, unsigned link, nvmlPciInfo_t* info) {
    return link_answer(device, link, info, [link](int) { return switch_address(link); });
}

IMPLEMENT(nvmlDeviceGetNvLinkRemoteDeviceType)
(nvmlDevice_t device, unsigned link, nvmlIntNvLinkDeviceType_t* type) {
    return link_answer(device, link, type, [](int) { return NVML_NVLINK_DEVICE_TYPE_SWITCH; });
}

IMPLEMENT(nvmlDeviceGetNvLinkUtilizationCounter)
(nvmlDevice_t device, unsigned link, unsigned, unsigned long long* received, unsigned long long* sent) {
    if (sent == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const auto bytes = [link](int i) { return link_bytes(i, link).value_or(0); };
    const nvmlReturn_t result = link_answer(device, link, received, bytes);
    return result == NVML_SUCCESS ? link_answer(device, link, sent, bytes) : result;
}
