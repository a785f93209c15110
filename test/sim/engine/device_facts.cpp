#include "device_facts.h"

#include <cstdio>

#include "knobs.h"

namespace gpusim {
namespace {

constexpr int kFirstBus = 0x10;

uint64_t scramble(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

}  // namespace

std::string device_name() { return "Simulated " + knobs().name; }

std::array<uint8_t, 16> device_uuid(int device) {
    std::array<uint8_t, 16> uuid;
    for (uint64_t half = 0; half < 2; ++half) {
        const uint64_t bits = scramble(2 * static_cast<uint64_t>(device) + half + 1);
        for (uint64_t byte = 0; byte < 8; ++byte)
            uuid[half * 8 + byte] = static_cast<uint8_t>(bits >> (8 * byte));
    }
    uuid[6] = static_cast<uint8_t>((uuid[6] & 0x0f) | 0x40);  // marked as a random one, as UUIDs of GPUs are
    uuid[8] = static_cast<uint8_t>((uuid[8] & 0x3f) | 0x80);
    return uuid;
}

PciAddress device_pci(int device) { return {0, kFirstBus + device, 0}; }

std::string device_pci_text(int device) {
    const PciAddress at = device_pci(device);
    char text[32];
    std::snprintf(text, sizeof text, "%04x:%02x:%02x.0", at.domain, at.bus, at.device);
    return text;
}

int64_t device_memory_bytes() { return knobs().memory_gb << 30; }

}  // namespace gpusim
