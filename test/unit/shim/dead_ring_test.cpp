// What the thread of a ring is inside of, as another process reads it.
#include "shim/writer/dead_ring.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "shim/calls/api.h"
#include "shim/ring/open_slot.h"

namespace dead_ring_test {

using namespace gpushim;
using namespace gpushim::shim;

namespace {

constexpr uint8_t kUuid[16] = {7};
constexpr uint32_t kSlots = 8;
constexpr int kTid = 4711;

// A ring's file, as its process has left it at some moment.
class RingFile {
  public:
    RingFile() {
        char path[] = "/tmp/gpushim-ring-XXXXXX";
        folder_ = mkdtemp(path);
        header_->magic = kRingMagic;
        header_->version = kRingVersion;
        header_->slot_count = kSlots;
        std::memcpy(header_->trace_uuid, kUuid, sizeof kUuid);
        header_->owners[0] = {0, kTid, 1};
        header_->owner_count = 1;
    }
    ~RingFile() { std::filesystem::remove_all(folder_); }

    void add(EventKind kind, ApiId api, uint64_t enter, bool is_complete, uint8_t flags = 0) {
        const uint64_t position = header_->head++;
        Slot& slot = slots_[position % kSlots];
        slot.mark = is_complete ? complete_mark(position) : open_mark(position);
        slot.kind = static_cast<uint8_t>(kind);
        slot.api = api;
        slot.flags = flags;
        slot.enter = enter;
    }

    void write() const {
        std::ofstream file(folder_ / "ring-1", std::ios::binary | std::ios::in | std::ios::out);
        if (!file) file.open(folder_ / "ring-1", std::ios::binary);
        std::vector<char> first(kSlotsOffset);
        std::memcpy(first.data(), static_cast<const void*>(header_.get()), sizeof(RingHeader));
        file.write(first.data(), static_cast<std::streamsize>(first.size()));
        file.write(reinterpret_cast<const char*>(slots_.get()), kSlots * sizeof(Slot));
    }

    std::unique_ptr<DeadRing> read() const {
        write();
        const int folder = open(folder_.c_str(), O_RDONLY | O_DIRECTORY);
        auto ring = DeadRing::open(folder, "ring-1", kUuid);
        close(folder);
        REQUIRE(ring != nullptr);
        return ring;
    }

    std::optional<OpenSlot> open_call() const { return read()->open_call(); }

  private:
    std::filesystem::path folder_;
    std::unique_ptr<RingHeader> header_ = std::make_unique<RingHeader>();
    std::unique_ptr<Slot[]> slots_ = std::make_unique<Slot[]>(kSlots);
};

}  // namespace

TEST_CASE("a thread is inside of the call that it has entered and not left", "[dead_ring]") {
    RingFile ring;
    CHECK(!ring.open_call());
    for (uint64_t i = 0; i < 20; ++i) ring.add(EventKind::launch, api_cuLaunchKernel, i, true);
    CHECK(!ring.open_call());
    ring.add(EventKind::sync, api_cuStreamSynchronize, 100, false);
    const auto call = ring.open_call();
    REQUIRE(call);
    CHECK(call->api == api_cuStreamSynchronize);
    CHECK(call->enter == 100);
    CHECK(call->tid == kTid);
}

TEST_CASE("of calls within calls the outermost counts", "[dead_ring]") {
    RingFile ring;
    ring.add(EventKind::collective, api_ncclAllReduce, 100, false);
    ring.add(EventKind::launch, api_cuLaunchKernel, 110, true, kInsideNccl);
    ring.add(EventKind::sync, api_cuStreamSynchronize, 120, false, kInsideNccl);
    CHECK(ring.open_call()->api == api_ncclAllReduce);
}

TEST_CASE("a call that was left by a jump is over with the next one", "[dead_ring]") {
    RingFile ring;
    ring.add(EventKind::sync, api_cuStreamSynchronize, 100, false);
    CHECK(ring.open_call());
    ring.add(EventKind::text, ApiId{}, 0, true);  // a text of the call that still goes on
    CHECK(ring.open_call());
    ring.add(EventKind::launch, api_cuLaunchKernel, 200, true);
    CHECK(!ring.open_call());
    ring.add(EventKind::collective, api_ncclAllReduce, 300, false);
    ring.add(EventKind::sync, api_cuStreamSynchronize, 310, false, kInsideNccl);
    ring.add(EventKind::launch, api_cuLaunchKernel, 320, true, kInsideNccl);
    CHECK(ring.open_call()->enter == 300);
}

TEST_CASE("what comes into a ring while it is read is left for later", "[dead_ring]") {
    RingFile file;
    file.add(EventKind::launch, ApiId{}, 100, true);
    file.add(EventKind::launch, ApiId{}, 200, true);
    const auto ring = file.read();
    EventList events(ring->most_events({}));
    file.add(EventKind::launch, ApiId{}, 300, true);
    file.write();
    CHECK(ring->read({}, events) == 0);
    CHECK(events.all().size() == 2);
    CHECK(ring->progress().next == 2);
    CHECK_THROWS(events.add());
}

}  // namespace dead_ring_test
