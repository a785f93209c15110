#include "engine/device_facts.h"

#include <set>

#include "box.h"
#include "engine/box_state.h"

namespace device_facts_test {

using namespace gpusim;

TEST_CASE("every device is called Simulated", "[device_facts]") {
    ::box::knobs("GPUSIM_NAME=H9 GPUSIM_MEMORY_GB=80");
    CHECK(device_name() == "Simulated H9");
    CHECK(device_memory_bytes() == 80LL << 30);
}

TEST_CASE("devices have identities and addresses of their own", "[device_facts]") {
    std::set<std::array<uint8_t, 16>> uuids;
    std::set<std::string> addresses;
    for (int device = 0; device < kMaxDevices; ++device) {
        uuids.insert(device_uuid(device));
        addresses.insert(device_pci_text(device));
        CHECK((device_uuid(device)[6] & 0xf0) == 0x40);
        CHECK((device_uuid(device)[8] & 0xc0) == 0x80);
    }
    CHECK(uuids.size() == kMaxDevices);
    CHECK(addresses.size() == kMaxDevices);
    CHECK(device_pci_text(0) == "0000:10:00.0");
    CHECK(device_uuid(0)[0] == 0xe5);  // the same in every process, for ever
}

}  // namespace device_facts_test
