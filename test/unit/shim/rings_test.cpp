#include "rings.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>

#include "repeats.h"

namespace rings_test {

using namespace rings;

namespace {

// To its very end: a joined thread may still be there for the kernel, for a moment.
template <class F>
void in_a_thread(F work) {
    pid_t tid = 0;
    std::thread([&] {
        tid = thread_id();
        work();
    }).join();
    while (syscall(SYS_tgkill, getpid(), tid, 0) == 0) std::this_thread::yield();
}

}  // namespace

TEST_CASE("the budget is a share of the tmpfs, and none where it is small", "[rings]") {
    constexpr uint64_t kMegabyte = 1 << 20;
    CHECK(ring_budget(64 * kMegabyte) == 0);
    CHECK(ring_budget(256 * kMegabyte - 1) == 0);
    CHECK(ring_budget(256 * kMegabyte) == 4 * kMegabyte);
    CHECK(ring_budget(4096 * kMegabyte) == 64 * kMegabyte);
    CHECK(ring_budget(64'000 * kMegabyte) == 64 * kMegabyte);
}

TEST_CASE("a thread's first event is preceded by whose ring it is", "[rings]") {
    const Recording recording;
    REQUIRE(record(11));
    Sink sink;
    sink.take();
    REQUIRE(sink.rows.size() == 2);
    CHECK(sink.rows[0].kind == EventKind::thread);
    CHECK(sink.rows[0].value == static_cast<uint64_t>(thread_id()));
    CHECK(sink.rows[1].value == 11);
    CHECK(sink.rows[1].thread == 1);
    CHECK(owner_of(*thread_state.ring, sink.rows[1].position).number == 1);
}

TEST_CASE("rings of an earlier start are not used", "[rings]") {
    {
        const Recording before;
        REQUIRE(record(1));
    }
    const RingHeader* old = thread_state.ring;
    const Recording recording;
    REQUIRE(record(2));
    CHECK(thread_state.ring != old);
    Sink sink;
    sink.take();
    CHECK(sink.rows.size() == 2);
}

TEST_CASE("a full ring goes on in another; nothing is lost while the budget lasts", "[rings]") {
    const Recording recording;
    constexpr uint64_t kEvents = 3 * kSmallSlots;
    for (uint64_t i = 0; i < kEvents; ++i) REQUIRE(record(i));
    Sink sink;
    sink.take();
    REQUIRE(sink.count(EventKind::copy) == kEvents);
    uint64_t expected = 0;
    for (const auto& row : sink.rows) {
        CHECK(row.thread == 1);
        if (row.kind == EventKind::copy) REQUIRE(row.value == expected++);
    }
    CHECK(sink.count(EventKind::thread) == 4);
    CHECK(sink.dropped(Drop::full) == 0);
}

TEST_CASE("what does not fit is dropped and counted, each event once", "[rings]") {
    // One small ring and nothing else.
    const Recording recording(kSlotsOffset + kSmallSlots * sizeof(Slot));
    uint64_t kept = 0;
    for (uint64_t i = 0; i < 10'000; ++i) kept += record(i) ? 1 : 0;
    CHECK(kept == kSmallSlots - 1);
    Sink sink;
    sink.take();
    CHECK(sink.count(EventKind::copy) == kept);
    CHECK(sink.dropped(Drop::full) == 10'000 - kept);

    SECTION("and there is room again once it has been drained") {
        CHECK(record(1));
        sink.take();
        CHECK(sink.count(EventKind::copy) == kept + 1);
    }
    SECTION("a thread that finds no ring at all counts, too") {
        std::thread([] {
            for (int i = 0; i < 5; ++i) CHECK(!record());
        }).join();
        sink.take();
        CHECK(sink.dropped(Drop::no_ring) == 5);
    }
}

TEST_CASE("a text that finds no room for all of it is dropped with its event", "[rings]") {
    const Recording recording(kSlotsOffset + kSmallSlots * sizeof(Slot));
    for (uint64_t i = 0; i < kSmallSlots - 2; ++i) REQUIRE(record(i));
    CHECK(!has_room(thread_state, 3));
    CHECK(has_room(thread_state, 1));
    Sink sink;
    sink.take();
    CHECK(sink.dropped(Drop::full) == 1);
}

TEST_CASE("the writer keeps spare rings, and takes those of ended threads back", "[rings]") {
    const Recording recording;
    care_for_rings(Spares::some, true);
    REQUIRE(all_rings().size() == 2);
    Sink sink;
    for (int i = 0; i < 100; ++i) {
        std::thread([] { CHECK(record()); }).join();
        sink.take();
        care_for_rings(Spares::some, true);
    }
    // A joined thread may still be there for the kernel, for a moment.
    CHECK(all_rings().size() <= 4);
    CHECK(sink.count(EventKind::copy) == 100);
}

TEST_CASE("a process begins with one ring, and has no others while nobody wants them", "[rings]") {
    const Recording recording;
    make_first_ring();
    REQUIRE(all_rings().size() == 1);
    CHECK(record());
    CHECK(all_rings().front().header->slot_count == kSmallSlots);
    Sink sink;
    for (int pass = 0; pass < 3; ++pass) {
        sink.take();
        care_for_rings(Spares::none, true);
    }
    CHECK(all_rings().size() == 1);
    SECTION("what comes when it is full is recorded all the same") {
        for (uint64_t i = 0; i < 2 * kSmallSlots; ++i) CHECK(record(i));
        sink.take();
        CHECK(sink.count(EventKind::copy) == 2 * kSmallSlots + 1);
    }
    SECTION("two spares once a thread may want one") {
        care_for_rings(Spares::some, true);
        CHECK(all_rings().size() == 3);
    }
}

TEST_CASE("a ring that is not drained yet goes from an ended thread to the next", "[rings]") {
    const Recording recording(kSlotsOffset + kSmallSlots * sizeof(Slot));
    for (uint64_t i = 0; i < 20; ++i) {
        bool recorded = false;
        in_a_thread([&] { recorded = record(i); });
        CHECK(recorded);
    }
    Sink sink;
    sink.take();
    REQUIRE(sink.rows.size() == 40);
    for (size_t i = 0; i < 20; ++i) {
        CHECK(sink.rows[2 * i].kind == EventKind::thread);
        CHECK(sink.rows[2 * i + 1].value == i);
        CHECK(sink.rows[2 * i + 1].thread == static_cast<int32_t>(i + 1));
    }
    CHECK(sink.rows.front().ring_id == sink.rows.back().ring_id);
}

TEST_CASE("a ring changes hands only as often as its owners can be told", "[rings]") {
    const Recording recording(kSlotsOffset + kSmallSlots * sizeof(Slot));
    size_t kept = 0;
    for (size_t i = 0; i < 3 * kOwners; ++i) in_a_thread([&] { kept += record() ? 1 : 0; });
    CHECK(kept == kOwners);
    const RingHeader& header = *all_rings().front().header;
    for (uint64_t position = 0; position < 2 * kOwners; ++position)
        CHECK(owner_of(header, position).number == position / 2 + 1);
    Sink sink;
    sink.take();
    CHECK(sink.dropped(Drop::no_ring) == 3 * kOwners - kept);
}

TEST_CASE("50,000 short threads: every event, and memory that stays", "[rings]") {
    const Recording recording;
    Sink sink;
    std::atomic<bool> stop = false;
    std::atomic<int> ended = 0, taken = 0;  // threads
    std::thread writer([&] {
        while (!stop) {
            const int until = ended;
            sink.take();
            care_for_rings(Spares::some, true);
            taken = until;
        }
    });
    constexpr int kThreads = repeats(50'000, 10'000);
    std::atomic<int> kept = 0;
    for (int i = 0; i < kThreads; i += 4) {
        // A ring changes hands only so often until it is drained, and the writer may have no processor.
        while (i - taken > static_cast<int>(kOwners) / 2) std::this_thread::yield();
        std::thread four[4];
        for (auto& thread : four)
            thread = std::thread([&] {
                for (int call = 0; call < 7; ++call) kept += record() ? 1 : 0;
            });
        for (auto& thread : four) thread.join();
        ended = i + 4;
    }
    stop = true;
    writer.join();
    // On a busy machine more is left than goes into one batch.
    for (size_t before = SIZE_MAX; before != sink.rows.size();) {
        before = sink.rows.size();
        sink.take();
    }
    CHECK(kept == kThreads * 7);
    CHECK(sink.count(EventKind::copy) == static_cast<size_t>(kThreads) * 7);
    CHECK(all_rings().size() < kPrivateBudget / (kSmallSlots * sizeof(Slot)));
}

TEST_CASE("producers and the writer at once: produced is recorded plus dropped", "[rings]") {
    // Room for few rings, so that there are drops.
    const Recording recording(4 * (kSlotsOffset + kSmallSlots * sizeof(Slot)));
    constexpr uint64_t kEvents = 200'000;
    constexpr int kThreads = 3;
    Sink sink;
    std::atomic<int> running = kThreads;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
        threads.emplace_back([&] {
            for (uint64_t i = 0; i < kEvents; ++i) record(i);
            --running;
        });
    while (running != 0) {
        sink.take();
        care_for_rings(Spares::large, true);
        // Once in a while too slow.
        if (sink.rows.size() % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    for (auto& thread : threads) thread.join();
    sink.take();
    const uint64_t dropped = sink.dropped(Drop::full) + sink.dropped(Drop::no_ring);
    CHECK(sink.count(EventKind::copy) + dropped == kThreads * kEvents);
    CHECK(sink.count(EventKind::copy) > 0);
    // Each once. Not in order: a call that was seen open comes after those that followed it.
    std::map<int32_t, std::set<uint64_t>> seen;
    for (const auto& row : sink.rows)
        if (row.kind == EventKind::copy) REQUIRE(seen[row.thread].insert(row.value).second);
}

TEST_CASE("ring files: private to the user, allocated, gone with their ring", "[rings]") {
    const std::string folder = "/dev/shm/gpushim-rings-test-" + std::to_string(getpid());
    std::filesystem::create_directory(folder);
    {
        const Recording recording(kPrivateBudget, folder.c_str());
        REQUIRE(record(5));
        struct stat facts;
        REQUIRE(stat((folder + "/ring-1").c_str(), &facts) == 0);
        CHECK((facts.st_mode & 0777) == 0600);
        CHECK(facts.st_size == static_cast<off_t>(kSlotsOffset + kSmallSlots * sizeof(Slot)));
        CHECK(facts.st_blocks * 512 >= facts.st_size);
        std::ifstream file(folder + "/ring-1", std::ios::binary);
        std::vector<char> bytes(static_cast<size_t>(facts.st_size));
        file.read(bytes.data(), facts.st_size);
        const auto* header = reinterpret_cast<const RingHeader*>(bytes.data());
        CHECK(header->magic == kRingMagic);
        CHECK(header->ring_id == 1);
        CHECK(std::string(header->trace_path) == "/nowhere/trace.db");
        const auto* slots = reinterpret_cast<const Slot*>(bytes.data() + kSlotsOffset);
        CHECK(slots[1].mark == complete_mark(1));
        CHECK(slots[1].word[0] == 5);
        CHECK(std::filesystem::exists(folder + "/ring-0"));
    }
    std::filesystem::remove_all(folder);
}

TEST_CASE("a planted link is not followed: no ring instead", "[rings]") {
    const std::string folder = "/dev/shm/gpushim-rings-link-" + std::to_string(getpid());
    std::filesystem::create_directory(folder);
    std::ofstream(folder + "/victim") << "precious";
    std::filesystem::create_symlink(folder + "/victim", folder + "/ring-1");
    {
        const Recording recording(kPrivateBudget, folder.c_str());
        CHECK(!record());
        Sink sink;
        sink.take();
        CHECK(sink.dropped(Drop::no_ring) == 1);
    }
    CHECK(std::filesystem::file_size(folder + "/victim") == 8);
    std::filesystem::remove_all(folder);
}

}  // namespace rings_test
