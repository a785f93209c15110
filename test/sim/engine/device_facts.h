// What a device of the box is: its name, identity, address and size. The one place from which the driver and
// NVML take them, so that the two agree. The same in every process and on every box. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace gpusim {

// Of every device alike.
namespace facts {
constexpr int kComputeMajor = 9;
constexpr int kComputeMinor = 0;
constexpr int kSmCount = 132;
constexpr int kCoresPerSm = 128;
constexpr int kSmClockMhz = 1980;  // the most; GPUSIM_SM_MHZ moves what NVML says of the present
constexpr int kMemoryClockMhz = 2619;
constexpr int kMemoryBusBits = 5120;
constexpr int64_t kL2Bytes = 50LL << 20;
constexpr int kPcieGeneration = 5;
constexpr int kPcieWidth = 16;
constexpr int kLinkCount = 18;  // NVLink, where GPUSIM_TOPOLOGY is nvlink
constexpr uint32_t kPciDeviceId = 0x000010de;
constexpr uint32_t kPciSubsystemId = 0x000010de;
}  // namespace facts

struct PciAddress {
    int domain = 0;
    int bus = 0;
    int device = 0;
};

std::string device_name();  // begins with "Simulated "
std::array<uint8_t, 16> device_uuid(int device);
PciAddress device_pci(int device);
std::string device_pci_text(int device);  // 0000:10:00.0
int64_t device_memory_bytes();

}  // namespace gpusim
