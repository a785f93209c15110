// A ring that a killed process left behind, as recovery reads it.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "base.h"
#include "shim/ring/ring_format.h"
#include "shim/writer/dead_ring.h"
#include "target.h"

namespace {

using namespace gpushim;
using namespace gpushim::shim;

constexpr uint32_t kSlots = 64;

// All kinds of events, complete and open, texts behind those that announce some.
std::string whole_ring() {
    std::string bytes(kSlotsOffset + kSlots * sizeof(Slot), '\0');
    alignas(64) static char memory[kSlotsOffset + kSlots * sizeof(Slot)];
    auto& header = *new (memory) RingHeader{};
    auto* const slots = new (memory + kSlotsOffset) Slot[kSlots]{};
    header.magic = kRingMagic;
    header.version = kRingVersion;
    header.slot_count = kSlots;
    header.ring_id = 1;
    header.owner_count = 1;
    header.owners[0] = {0, 4711, 1};
    header.anchor_count = 2;
    header.anchors[0] = {0, 0, 0};
    header.anchors[1] = {1000, 1000, 1000};
    for (uint32_t i = 0; i < kSlots - 4; ++i) {
        slots[i].mark = i % 7 == 3 ? open_mark(i) : complete_mark(i);
        slots[i].kind = static_cast<uint8_t>(i % 30);
        slots[i].enter = i * 10;
        slots[i].exit = i * 10 + 5;
        for (uint64_t& word : slots[i].word) word = i;
    }
    header.head = kSlots - 4;
    std::memcpy(bytes.data(), memory, bytes.size());
    return bytes;
}

void recover(const std::string& path) {
    const size_t slash = path.rfind('/');
    const int folder = open(path.substr(0, slash).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const uint8_t uuid[16] = {};
    const auto ring = DeadRing::open(folder, path.c_str() + slash + 1, uuid);
    close(folder);
    if (ring == nullptr) return;
    const Committed committed{0, {0, 3, 77, UINT64_MAX}};
    const size_t most = ring->most_events(committed);
    fuzz::require(most <= ring->header().slot_count + committed.open.size(), "more events than slots");
    EventList events(most);
    std::vector<ClockPair> pairs;
    ring->add_pairs(pairs);
    fuzz::require(pairs.size() <= kAnchors, "more readings of the clock than there is room for");
    ring->read(committed, events);
    fuzz::require(events.all().size() <= most, "more events than were announced");
    map_times(events.all(), pairs);
}

void read_ring(std::string_view script) {
    static const std::string base = whole_ring();
    static const fuzz::InputFile file("ring-1");
    std::string ring = base;
    fuzz::patch(ring, fuzz::Script(script));
    file.write(ring);
    recover(file.path());
}

const fuzz::Registration kTarget({"ring", "what a killed process left in a ring", read_ring});

}  // namespace
