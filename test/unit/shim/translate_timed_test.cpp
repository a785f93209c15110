#include "shim/rows/timed_operations.h"
#include "trace.h"

namespace translate_timed_test {

using namespace trace;

namespace {

constexpr uint64_t kFunction = 0x100, kStream = 0x200;

void launch(Events& events, int64_t enter_ns, const Options& options = {}) {
    events.call("cuLaunchKernel", enter_ns, enter_ns + 4, {kFunction, kStream, kGrid, kBlock}, options);
}

// Its start and end event are numbered after it.
void timed(Events& events, uint64_t position, int64_t enter_ns, uint64_t more = 0,
           const Options& options = {}) {
    events.event(kNoApi, EventKind::timed, enter_ns, enter_ns + 4,
                 {(position * 2 + 1) | (position * 2 + 2) << 32, 1 | more, position, kStream}, options);
}

std::string said(std::span<const TimedOperation> operations) {
    std::string text;
    for (const TimedOperation& one : operations)
        text += (text.empty() ? "" : " ; ") + (one.enter_ns == kNull ? "-" : std::to_string(one.enter_ns)) +
                "|" + std::to_string(one.start) + "|" + std::to_string(one.end) +
                (one.fenced ? "|fenced" : "");
    return text;
}

}  // namespace

TEST_CASE("a timed slot says which row has events", "[translate_timed]") {
    Trace trace;
    Events events;
    launch(events, 100);
    timed(events, 0, 100);
    launch(events, 200);
    launch(events, 300);
    timed(events, 3, 300, kFenced);
    trace.write(events);
    CHECK(said(trace.store().timed()) == "100|1|2 ; 300|7|8|fenced");
    const TimedOperation& first = trace.store().timed()[0];
    CHECK(first.exit_ns == 104);
    CHECK(first.context == 1);
    CHECK(first.what == kFunction);
    CHECK(first.operation == Operation::launch);
    CHECK(trace.ask("SELECT stream_id, shape_id FROM launch WHERE enter_ns = 100") ==
          std::to_string(first.stream_id) + "|" + std::to_string(first.alike));
    trace.write(events);
    CHECK(trace.store().timed().empty());
}

TEST_CASE("the id of a row that had to move is the one that counts", "[translate_timed]") {
    Trace trace;
    Events events;
    launch(events, 100, {.thread = 1});
    timed(events, 0, 100, 0, {.thread = 1});
    launch(events, 100, {.thread = 2});
    timed(events, 0, 100, 0, {.thread = 2});
    trace.write(events);
    CHECK(said(trace.store().timed()) == "100|1|2 ; 101|1|2");
    CHECK(trace.ask("SELECT enter_ns FROM launch") == "100 ; 101");
}

TEST_CASE("slot and operation may come in different batches", "[translate_timed]") {
    Trace trace;
    Events events;
    SECTION("the slot later") {
        launch(events, 100);
        trace.write(events);
        CHECK(trace.store().timed().empty());
        timed(events, 0, 100);
        launch(events, 500);
        trace.write(events);
        CHECK(said(trace.store().timed()) == "100|1|2");
    }
    SECTION("the slot earlier: the call was still open") {
        events.slots(1);
        Event& open = events.call("cuLaunchKernel", 100, 104, {kFunction, kStream, kGrid, kBlock});
        const uint64_t position = open.position;
        open.position = 77;  // another, and not timed
        timed(events, position, 100);
        trace.write(events);
        CHECK(trace.store().timed().empty());
        events.call("cuLaunchKernel", 100, 104, {kFunction, kStream, kGrid, kBlock}).position = position;
        trace.write(events);
        CHECK(said(trace.store().timed()) == "101|1|2");
    }
}

TEST_CASE("by stream, and in it by time", "[translate_timed]") {
    Trace trace;
    Events events;
    events.call("cuLaunchKernel", 100, 104, {kFunction, 0x300, kGrid, kBlock}, {.thread = 1});
    timed(events, 0, 100, 0, {.thread = 1});
    events.call("cuLaunchKernel", 110, 114, {kFunction, 0x400, kGrid, kBlock}, {.thread = 2});
    timed(events, 0, 110, 0, {.thread = 2});
    events.call("cuLaunchKernel", 120, 124, {kFunction, 0x300, kGrid, kBlock}, {.thread = 1});
    timed(events, 2, 120, 0, {.thread = 1});
    trace.write(events);
    CHECK(said(trace.store().timed()) == "100|1|2 ; 120|5|6 ; 110|1|2");
}

TEST_CASE("copies, memsets and graphs are told apart, and which are alike", "[translate_timed]") {
    Trace trace;
    Events events;
    events.call("cuMemcpyHtoDAsync_v2", 100, 104, {0x1000, 0x2000, 64, kStream});
    timed(events, 0, 100);
    events.call("cuMemcpyHtoDAsync_v2", 200, 204, {0x5000, 0x6000, 64, kStream});
    timed(events, 2, 200);
    events.call("cuMemcpyDtoHAsync_v2", 300, 304, {0x2000, 0x1000, 64, kStream});
    timed(events, 4, 300);
    events.call("cuMemcpyHtoD_v2", 400, 404, {0x1000, 0x2000, 64, 0});
    timed(events, 6, 400);
    events.call("cuMemsetD8Async", 500, 504, {0x1000, 64, kStream, 1});
    timed(events, 8, 500);
    events.call("cuGraphLaunch", 600, 604, {0x900, kStream});
    timed(events, 10, 600);
    events.call("cuMemcpyHtoDAsync_v2", 700, 704, {0x1000, 0x2000, 64 << 10, kStream});
    timed(events, 12, 700);
    events.call("cuMemcpyHtoDAsync_v2", 800, 804, {0x1000, 0x2000, (64 << 10) + 1, kStream});
    timed(events, 14, 800);
    trace.write(events);
    std::map<int64_t, TimedOperation> by_time;
    for (const TimedOperation& one : trace.store().timed()) by_time[one.enter_ns] = one;
    REQUIRE(by_time.size() == 8);
    CHECK(by_time[100].operation == Operation::copy);
    CHECK(by_time[100].alike == by_time[200].alike);
    CHECK(by_time[100].alike != by_time[300].alike);
    CHECK_FALSE(by_time[100].blocking);
    CHECK(by_time[300].blocking);  // to pageable memory: in every form
    CHECK(by_time[400].blocking);
    CHECK_FALSE(by_time[700].blocking);
    CHECK(by_time[800].blocking);
    CHECK(by_time[500].operation == Operation::memset);
    CHECK(by_time[500].alike == 64);
    CHECK(by_time[600].operation == Operation::graph_launch);
}

TEST_CASE("a batch that was not written says the same when it comes again", "[translate_timed]") {
    Tables tables;
    TimedOperations operations;
    Event launched = {}, slot = {};
    launched.slot.kind = static_cast<uint8_t>(EventKind::launch);
    slot.slot.word[0] = 5 | 6ull << 32;
    const auto try_once = [&] {
        tables.clear();
        operations.start_batch();
        operations.timed(slot);
        tables.launch.add({100, 4, 1, 1, 1, kNull, 0}, 0);
        operations.operation(launched, tables.launch);
        operations.settle(tables);
    };
    try_once();
    CHECK(said(operations.list()) == "100|5|6");
    try_once();
    CHECK(said(operations.list()) == "100|5|6");
    operations.written();
    operations.start_batch();
    CHECK(operations.list().empty());
}

TEST_CASE("events of an operation that never comes are given back", "[translate_timed]") {
    Tables tables;
    TimedOperations operations;
    Event slot = {};
    slot.slot.word[0] = 5 | 6ull << 32;
    slot.slot.word[1] = 3;
    std::string all;
    for (int batch = 0; batch < 200; ++batch) {
        operations.start_batch();
        if (batch == 0) operations.timed(slot);
        operations.settle(tables);
        all += said(operations.list());
        for (const TimedOperation& one : operations.list()) CHECK(one.context == 3);
        operations.written();
    }
    CHECK(all == "-|5|6");
}

}  // namespace translate_timed_test
