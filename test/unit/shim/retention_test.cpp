#include "shim/trace/retention.h"

#include "repeats.h"
#include "sized_trace.h"

namespace retention_test {

using namespace trace;

TEST_CASE("a trace keeps its size, and says what is gone", "[retention][one_thread]") {
    Trace trace(1, 4 * kMegabyte);
    Events events;
    int64_t largest = 0;
    for (int64_t second = 1; second <= 300; ++second) {
        REQUIRE(write_seconds(trace, events, second, second + 1));
        largest = std::max(largest, size_of(trace));
    }
    CHECK(largest <= 4 * kMegabyte);
    CHECK(largest > 2 * kMegabyte);
    CHECK(trace.ledger() == "300000|300000|0|0|0|0");
    CHECK(trace.ask("SELECT count(*) > 20000 FROM launch") == "1");
    CHECK(trace.ask("SELECT sum(recorded) + (SELECT count(*) FROM launch) FROM summarised") == "300000");
    CHECK(trace.ask(
              "SELECT count(*) FROM launch JOIN summarised ON enter_ns >= from_ns AND enter_ns < until_ns") ==
          "0");
    // Spans apart from each other, which end where they say.
    CHECK(trace.ask("SELECT count(*) FROM summarised a JOIN summarised b ON a.from_ns < b.from_ns AND"
                    " a.until_ns >= b.from_ns") == "0");
    CHECK(trace.ask("SELECT count(*) > 1 FROM summarised") == "1");
    CHECK(trace.ask("PRAGMA integrity_check") == "ok");
}

TEST_CASE("what is kept is known again when the trace is opened again", "[retention][one_thread]") {
    Trace trace(1, 4 * kMegabyte);
    Events events;
    for (int64_t second = 1; second <= 300; second += 10) {
        REQUIRE(write_seconds(trace, events, second, second + 10));
        trace.open();
    }
    CHECK(size_of(trace) <= 4 * kMegabyte);
    CHECK(trace.ledger() == "300000|300000|0|0|0|0");
    CHECK(trace.ask("SELECT sum(rows) = (SELECT count(*) FROM launch) FROM kept_slot") == "1");
}

TEST_CASE("below its size a trace has every row", "[retention][one_thread]") {
    Trace trace(1, 4 * kMegabyte);
    Events events;
    REQUIRE(write_seconds(trace, events, 1, 20));
    CHECK(trace.ask("SELECT count(*) FROM launch") == "19000");
    CHECK(trace.ask("SELECT count(*) FROM summarised") == "0");
}

TEST_CASE("where one span alone is too much its older part goes", "[retention][one_thread]") {
    Trace trace(1, 2 * kMegabyte);
    Events events;
    for (int64_t i = 0; i < 100; ++i) {
        for (int64_t n = 0; n < 1000; ++n) launch(events, kSecond + i * 10'000'000 + n * 10'000);
        REQUIRE(events.write(trace.store()));
        REQUIRE(size_of(trace) <= 2 * kMegabyte);
    }
    CHECK(trace.ledger() == "100000|100000|0|0|0|0");
    CHECK(trace.ask("SELECT max(enter_ns) FROM launch") == std::to_string(2 * kSecond - 10'000));
    CHECK(trace.ask("SELECT count(*) > 5000 FROM launch") == "1");
}

TEST_CASE("memory that is held stays known", "[retention][one_thread]") {
    Trace trace(1, 4 * kMegabyte);
    Events events;
    REQUIRE(write_seconds(trace, events, 1, 151));
    events.call("cuMemAlloc_v2", 150 * kSecond + 999'500'000, 150 * kSecond + 999'500'000 + 5,
                {0x10000, 4096, 0, 0});
    events.call("cuMemAlloc_v2", 150 * kSecond + 999'500'000 + 10, 150 * kSecond + 999'500'000 + 15,
                {0x20000, 4096, 0, 0});
    events.call("cuMemFree_v2", 150 * kSecond + 999'500'000 + 20, 150 * kSecond + 999'500'000 + 25,
                {0x20000, 0, 0, 0});
    REQUIRE(write_seconds(trace, events, 151, 500));
    CHECK(trace.ask("SELECT address FROM memory") == std::to_string(0x10000));
    CHECK(trace.ledger().ends_with("|0|0|0|0"));
}

TEST_CASE("events of the program that are long gone are forgotten", "[retention][one_thread]") {
    Trace trace(1, 4 * kMegabyte);
    Events events;
    for (int64_t second = 1; second <= 400; ++second) {
        for (int64_t i = 0; i < 400; ++i) {
            const int64_t at_ns = second * kSecond + i * 2'000'000;
            const uint64_t handle = 0xe000 + static_cast<uint64_t>(i);
            events.call("cuEventCreate", at_ns, at_ns + 5, {handle, 0, 0});
            events.call("cuEventDestroy_v2", at_ns + 10, at_ns + 15, {handle});
        }
        trace.write(events);
        REQUIRE(size_of(trace) <= 4 * kMegabyte);
    }
    CHECK(trace.ask("SELECT count(*) < 80000 FROM handle") == "1");
    CHECK(trace.ledger() == "320000|320000|0|0|0|0");
}

TEST_CASE("what was held at most and how far collectives are is known when their rows are gone",
          "[retention]") {
    Trace trace(1, 2 * kMegabyte);
    Events events;
    REQUIRE(write_seconds(trace, events, 1, 136));
    const int64_t then = 136 * kSecond - 500'000;  // not among the first two minutes
    events.call("ncclCommInitRank", then, then + 1, {0xcc00, 0 | 2ull << 32, 0x1234, 0});
    events.call("cuMemAlloc_v2", then + 2, then + 3, {0x10000, 700});
    events.call("cuMemFree_v2", then + 4, then + 5, {0x10000});
    for (int i = 0; i < 5; ++i) events.call("ncclAllReduce", then + 6 + i, then + 7 + i, {0xcc00, 10, 7, 0});
    REQUIRE(write_seconds(trace, events, 136, 400));
    CHECK(trace.ask("SELECT count(*) FROM collective") == "0");
    CHECK(trace.ask("SELECT count(*) FROM memory") == "0");
    trace.open();
    events.call("ncclAllReduce", 500 * kSecond, 500 * kSecond + 1, {0xcc00, 10, 7, 0});
    events.call("cuMemAlloc_v2", 501 * kSecond, 501 * kSecond + 1, {0x10000, 600});
    trace.write(events);
    CHECK(trace.ask("SELECT seq FROM collective") == "6");
    CHECK(trace.ask("SELECT peak_bytes FROM v_memory_peak") == "700");
    CHECK(trace.ask("SELECT held_bytes FROM memory") == "600");
}

TEST_CASE("rows that come in bursts go in parts, too", "[retention][one_thread]") {
    Trace trace(1, 2 * kMegabyte);
    Events events;
    constexpr int64_t kSeconds = repeats(400, 150);
    for (int64_t second = 9; second < kSeconds; second += 10) {
        for (int64_t i = 0; i < 20'000; ++i) {
            launch(events, second * kSecond + i * 500);
            if (i % 2000 != 1999) continue;
            REQUIRE(events.write(trace.store()));
            REQUIRE(size_of(trace) <= 2 * kMegabyte);
        }
        if (second % 100 == 99) trace.open();
    }
    const std::string all = std::to_string(kSeconds / 10 * 20'000);
    CHECK(trace.ledger() == all + "|" + all + "|0|0|0|0");
}

TEST_CASE("memory whose addresses are used again and again does not stay", "[retention][one_thread]") {
    Trace trace(1, 4 * kMegabyte);
    Events events;
    constexpr uint64_t kLive = 500, kBytes = 64;
    const auto address = [](uint64_t i) { return 0x100000 + i % kLive * 0x1000; };
    for (uint64_t i = 0; i < 120'000; ++i) {
        const int64_t ns = kSecond + static_cast<int64_t>(i) * 2'000'000;
        if (i >= kLive) events.call("cuMemFree_v2", ns, ns + 1, {address(i)});
        events.call("cuMemAlloc_v2", ns + 1000, ns + 1001, {address(i), kBytes});
        if (i % 1000 != 999) continue;
        const bool written = events.write(trace.store());
        INFO(i << " " << Store::failure());
        REQUIRE(written);
    }
    CHECK(size_of(trace) <= 4 * kMegabyte);
    CHECK(trace.ask("SELECT peak_bytes FROM v_memory_peak") == std::to_string(kLive * kBytes));
    trace.open();
    events.call("cuMemAlloc_v2", 300 * kSecond, 300 * kSecond + 1, {0xffff0000, 1});
    trace.write(events);
    CHECK(trace.ask("SELECT held_bytes FROM memory ORDER BY enter_ns DESC LIMIT 1") ==
          std::to_string(kLive * kBytes + 1));
    CHECK(trace.ask("SELECT peak_bytes FROM v_memory_peak") == std::to_string(kLive * kBytes + 1));
    CHECK(trace.ledger().ends_with("|0|0|0|0"));
}

TEST_CASE("memory that comes and goes within a moment goes in parts", "[retention][one_thread]") {
    Trace trace(1, 4 * kMegabyte);
    Events events;
    for (uint64_t i = 0; i < 60'000; ++i) {
        const int64_t ns = kSecond + static_cast<int64_t>(i) * 20;
        events.call("cuMemAlloc_v2", ns, ns + 1, {0x100000 + i % 4000 * 4096, 64});
        events.call("cuMemFree_v2", ns + 2, ns + 3, {0x100000 + i % 4000 * 4096});
        if (i % 1000 != 999) continue;
        INFO(i << " " << Store::failure());
        REQUIRE(events.write(trace.store()));
        REQUIRE(size_of(trace) <= 4 * kMegabyte);
    }
    REQUIRE(write_seconds(trace, events, 30, 300));
    CHECK(trace.ledger() == "390000|390000|0|0|0|0");
}

TEST_CASE("opening it again changes no slot", "[retention][one_thread]") {
    Trace trace(1, 4 * kMegabyte);
    Events events;
    REQUIRE(write_seconds(trace, events, 1, 25));
    for (int i = 0; i < 20; ++i) {
        trace.open();
        launch(events, 25 * kSecond + i);
        trace.write(events);
    }
    CHECK(trace.ask("SELECT group_concat(slot) FROM kept_slot") == "0,1,2");
}

}  // namespace retention_test
