#include "shim/writer/drain.h"

#include "rings.h"

namespace drain_test {

using namespace rings;

TEST_CASE("an open event waits for its end, those after it do not", "[drain]") {
    // main  | ncclAllReduce ----------------------- |
    //       |     cuLaunchKernel -- cuLaunchKernel -- |
    const Recording recording;
    Sink sink;
    Slot* outer = open_event(EventKind::collective);
    REQUIRE(record(1, EventKind::launch, kInsideNccl));
    sink.take();
    CHECK(sink.count(EventKind::collective) == 0);
    CHECK(sink.count(EventKind::launch) == 1);
    REQUIRE(record(2, EventKind::launch, kInsideNccl));
    close_event(outer, 3);
    sink.take();
    REQUIRE(sink.count(EventKind::collective) == 1);
    const auto& collective = *std::find_if(sink.rows.begin(), sink.rows.end(),
                                           [](auto& r) { return r.kind == EventKind::collective; });
    const auto& first = *std::find_if(sink.rows.begin(), sink.rows.end(),
                                      [](auto& r) { return r.kind == EventKind::launch; });
    CHECK(collective.value == 3);
    CHECK(collective.enter_ns <= first.enter_ns);
    CHECK(collective.exit_ns >= first.exit_ns);
}

TEST_CASE("the slots from an open event on are not free", "[drain]") {
    const Recording recording;
    Sink sink;
    REQUIRE(record());
    Slot* open = open_event(EventKind::sync);
    const uint64_t position = thread_state.ring->head - 1;
    sink.take();
    CHECK(thread_state.ring->tail == position);
    close_event(open);
    sink.take();
    CHECK(thread_state.ring->tail == position + 1);
}

TEST_CASE("a ring's next thread is known while it still says who it is", "[drain]") {
    const Recording recording;
    Sink sink;
    REQUIRE(record(1));
    RingHeader& header = *thread_state.ring;
    header.owners[1] = {header.head, 4711, 2};
    header.owner_count = 2;
    Slot* says = open_event(EventKind::thread);
    sink.take();
    close_event(says, 2);
    REQUIRE(record(3));
    sink.take();
    REQUIRE(sink.rows.size() == 4);
    std::map<uint64_t, int32_t> thread_of;
    for (const auto& row : sink.rows)
        if (row.kind == EventKind::copy) thread_of[row.value] = row.thread;
    CHECK(thread_of == std::map<uint64_t, int32_t>{{1, 1}, {3, 2}});
}

TEST_CASE("a call that was left by an exception is unfinished once its thread goes on", "[drain]") {
    const Recording recording;
    Sink sink;
    open_event(EventKind::launch);
    sink.take();
    CHECK(sink.count(EventKind::launch) == 0);
    REQUIRE(record(4, EventKind::copy));
    sink.take();
    REQUIRE(sink.count(EventKind::launch) == 1);
    CHECK(sink.rows.back().kind == EventKind::launch);
    CHECK(sink.rows.back().exit_ns == kUnfinished);
    CHECK(sink.rows.back().value == 0);
    CHECK(thread_state.ring->tail == thread_state.ring->head);
}

TEST_CASE("what a call has left open inside NCCL is told from the NCCL call around it", "[drain]") {
    const Recording recording;
    Sink sink;
    Slot* outer = open_event(EventKind::collective);
    open_event(EventKind::launch, kInsideNccl);
    REQUIRE(record(0, EventKind::copy, kInsideNccl));
    sink.take();
    CHECK(sink.count(EventKind::launch) == 1);
    CHECK(sink.count(EventKind::collective) == 0);
    close_event(outer);
    sink.take();
    CHECK(sink.rows.back().kind == EventKind::collective);
    CHECK(sink.rows.back().exit_ns != kUnfinished);
}

TEST_CASE("the open call of a thread that has ended is unfinished", "[drain]") {
    const Recording recording;
    Sink sink;
    std::thread([] { open_event(EventKind::sync); }).join();
    sink.take();
    sink.take();
    REQUIRE(sink.count(EventKind::sync) == 1);
    CHECK(sink.rows.back().exit_ns == kUnfinished);
}

TEST_CASE("at the end open calls are unfinished, and polls are as many as they were", "[drain]") {
    const Recording recording;
    Sink sink;
    Slot* poll = open_event(EventKind::query);
    poll->word[0] = 77;
    poll->exit = ticks();
    thread_state.poll_position = thread_state.ring->head;
    std::thread([&] {
        open_event(EventKind::sync);
        sink.take(true);
    }).join();
    REQUIRE(sink.count(EventKind::query) == 1);
    REQUIRE(sink.count(EventKind::sync) == 1);
    for (const auto& row : sink.rows) {
        if (row.kind == EventKind::query) CHECK((row.value == 77 && row.exit_ns != kUnfinished));
        if (row.kind == EventKind::sync) CHECK(row.exit_ns == kUnfinished);
    }
    thread_state.poll_position = 0;
}

TEST_CASE("texts come with their events, whole", "[drain]") {
    const Recording recording;
    Sink sink;
    const std::string text(3 * kTextBytes + 5, 'k');
    REQUIRE(has_room(thread_state, 5));
    Slot* slot = open_event(EventKind::named);
    append_text(thread_state, text.data(), text.size());
    sink.take();
    CHECK(sink.count(EventKind::named) == 0);
    close_event(slot, text.size());
    REQUIRE(record(1));
    sink.take();
    REQUIRE(sink.count(EventKind::named) == 1);
    CHECK(sink.count(EventKind::text) == 0);
    for (const auto& row : sink.rows) {
        if (row.kind == EventKind::named) CHECK(row.text == text);
        if (row.kind == EventKind::copy) CHECK(row.text.empty());
    }
}

TEST_CASE("readings of the clocks that wait for long become fewer", "[drain]") {
    KeptPairs pairs;
    constexpr int64_t kEvery_ns = 50'000'000, kMost = 400'000;
    for (int64_t i = 0; i < kMost; ++i) pairs.add({static_cast<uint64_t>(i), i * kEvery_ns, 0});
    CHECK(pairs.all().size() <= KeptPairs::kMost);
    CHECK(pairs.all().size() > KeptPairs::kMost / 4);
    CHECK(pairs.all().front().mono_ns == 0);
    CHECK(pairs.all().back().mono_ns == (kMost - 2) * kEvery_ns);
}

TEST_CASE("a batch that was not written comes again, with what is new", "[drain]") {
    const Recording recording;
    Sink sink;
    REQUIRE(record(1));
    sink.drain().scan(false);
    CHECK(sink.drain().batch().events.size() == 2);
    const uint64_t tail = thread_state.ring->tail;
    REQUIRE(record(2));
    sink.take();
    CHECK(tail == 0);
    REQUIRE(sink.rows.size() == 3);
    CHECK(sink.rows[2].value == 2);
    CHECK(thread_state.ring->tail == 3);
}

TEST_CASE("more than one batch holds: the rest comes with the next, and the watermark waits", "[drain]") {
    const Recording recording(64 << 20);
    Sink sink;
    for (size_t i = 0; i < Drain::kMostEvents + 100; ++i) REQUIRE(record(i));
    sink.drain().scan(false);
    CHECK(sink.drain().is_full());
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    sink.drain().scan(false);
    CHECK(sink.drain().batch().watermark_ns == 0);
    sink.take();
    CHECK(sink.rows.size() == Drain::kMostEvents);
    sink.take();
    CHECK(sink.count(EventKind::copy) == Drain::kMostEvents + 100);
}

TEST_CASE("the watermark stays behind by what a thread may need to publish", "[drain]") {
    Watermark watermark;
    constexpr int64_t kMs = 1'000'000;
    watermark.scanned(1'000, 0);
    CHECK(watermark.ns() == 0);
    watermark.scanned(2'000, 20 * kMs);
    watermark.scanned(3'000, 25 * kMs);
    watermark.scanned(4'000, 39 * kMs);
    CHECK(watermark.ns() == 0);
    watermark.scanned(5'000, 40 * kMs);
    CHECK(watermark.ns() == 2'000);
    watermark.scanned(6'000, 60 * kMs);
    CHECK(watermark.ns() == 5'000);
}

}  // namespace drain_test
