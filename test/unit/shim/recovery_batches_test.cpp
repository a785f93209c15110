#include "shim/writer/recovery_batches.h"

#include <catch2/catch.hpp>
#include <random>
#include <set>

namespace recovery_batches_test {

using namespace gpushim;
using namespace gpushim::shim;

namespace {

// Events of rings, each at its position; texts take slots of their own.
class Rings {
  public:
    Rings() : events_(5000) {}

    void begin(uint64_t ring, uint64_t next_when_read) {
        of_rings_.push_back({{ring, next_when_read, {}, {}}, events_.all().size(), events_.all().size(), 0});
    }
    void add(uint64_t position, int64_t enter_ns, std::string_view text = {}, bool was_open = false) {
        RingEvents& ring = of_rings_.back();
        Event& event = events_.add();
        event.ring_id = ring.last.ring_id;
        event.position = position;
        event.enter_ns = enter_ns;
        event.exit_ns = enter_ns + 1;
        event.text = text;
        ++ring.end;
        if (was_open) ++ring.open;
    }
    RecoveryBatches batches(size_t most_slots) { return {events_.all(), of_rings_, most_slots}; }
    std::span<Event> all() { return events_.all(); }

  private:
    EventList events_;
    std::vector<RingEvents> of_rings_;
};

using Place = std::pair<uint64_t, uint64_t>;

std::vector<Place> places(const Batch& batch) {
    std::vector<Place> all;
    for (const Event& event : batch.events) all.emplace_back(event.ring_id, event.position);
    return all;
}

std::vector<uint64_t> next_of(const Batch& batch) {
    std::vector<uint64_t> all;
    for (const RingProgress& ring : batch.rings) all.push_back(ring.next);
    return all;
}

}  // namespace

//   ring 1   10@5      11@20          12@40
//   ring 2        7@10       8@30(text)    11@50
TEST_CASE("batches are cut in time over all rings", "[recovery_batches]") {
    Rings rings;
    rings.begin(1, 13);
    rings.add(10, 5);
    rings.add(11, 20);
    rings.add(12, 40);
    rings.begin(2, 12);
    rings.add(7, 10);
    rings.add(8, 30, std::string_view("a text that takes more than one slot of forty bytes"));
    rings.add(11, 50);
    RecoveryBatches batches = rings.batches(3);
    Batch batch;
    REQUIRE(batches.next(batch));
    CHECK(places(batch) == std::vector<Place>{{1, 10}, {1, 11}, {2, 7}});
    CHECK(next_of(batch) == std::vector<uint64_t>{12, 8});
    CHECK(batch.watermark_ns == 30);
    REQUIRE(batches.next(batch));
    CHECK(places(batch) == std::vector<Place>{{2, 8}});
    CHECK(next_of(batch) == std::vector<uint64_t>{12, 11});
    REQUIRE(batches.next(batch));
    CHECK(places(batch) == std::vector<Place>{{1, 12}, {2, 11}});
    CHECK(next_of(batch) == std::vector<uint64_t>{13, 12});
    CHECK(batch.watermark_ns == 52);
    CHECK_FALSE(batches.next(batch));
}

TEST_CASE("nothing to recover is one batch, which counts what was dropped", "[recovery_batches]") {
    Rings rings;
    rings.begin(1, 13);
    RecoveryBatches batches = rings.batches(3);
    Batch batch;
    REQUIRE(batches.next(batch));
    CHECK(batch.events.empty());
    CHECK(next_of(batch) == std::vector<uint64_t>{13});
    CHECK_FALSE(batches.next(batch));
}

TEST_CASE("what the trace has seen open is in the first batch", "[recovery_batches]") {
    Rings rings;
    rings.begin(1, 30);
    rings.add(3, 40, {}, true);
    rings.add(29, 60);
    rings.begin(2, 20);
    for (uint64_t i = 10; i < 20; ++i) rings.add(i, static_cast<int64_t>(2 * i));
    RecoveryBatches batches = rings.batches(4);
    Batch batch;
    REQUIRE(batches.next(batch));
    CHECK(places(batch).front() == Place{1, 3});
    CHECK(next_of(batch) == std::vector<uint64_t>{29, 20});
    REQUIRE(batches.next(batch));
    CHECK(places(batch) == std::vector<Place>{{1, 29}});
}

// In a ring a later position may have begun earlier: a gap, or what is written when its call returns.
TEST_CASE("every event is in one batch, what made a thing not after what uses it", "[recovery_batches]") {
    std::mt19937 random(7);
    for (int round = 0; round < 100; ++round) {
        Rings rings;
        for (uint64_t ring = 1; ring <= 3; ++ring) {
            const uint64_t count = random() % 200;
            rings.begin(ring, count);
            int64_t now_ns = 0;
            for (uint64_t i = 0; i < count; ++i)
                rings.add(i, (now_ns += 1 + static_cast<int64_t>(random() % 9)) -
                                 (random() % 5 == 0 ? static_cast<int64_t>(random() % 6) : 0));
        }
        const size_t most = 20;
        RecoveryBatches batches = rings.batches(most);
        std::set<Place> seen;
        std::vector<uint64_t> next = {0, 0, 0};
        int64_t last_ns = -100;  // the latest of the batches before
        for (Batch batch; batches.next(batch);) {
            CHECK(batch.events.size() < most + 30);
            int64_t newest_ns = last_ns;
            for (const Event& event : batch.events) {
                CHECK(event.position >= next[event.ring_id - 1]);
                CHECK(event.enter_ns > last_ns - 6);  // as far as a ring is out of order
                CHECK(seen.insert({event.ring_id, event.position}).second);
                newest_ns = std::max(newest_ns, event.enter_ns);
            }
            last_ns = newest_ns;
            next = next_of(batch);
        }
        CHECK(seen.size() == rings.all().size());
    }
}

}  // namespace recovery_batches_test
