#include "shim/trace/make_space.h"

#include "sized_trace.h"

namespace make_space_test {

using namespace trace;

TEST_CASE("a size that leaves no room for rows leaves the totals", "[make_space][one_thread]") {
    Trace trace(1, 300 * 1024);
    Events events;
    for (int64_t second = 1; second <= 20; ++second) {
        for (int64_t i = 0; i < 1000; ++i) launch(events, second * kSecond + i * 1'000'000);
        write_in_the_end(trace, events);
    }
    CHECK(trace.ledger() == "20000|20000|0|0|0|0");
    CHECK(trace.ask("SELECT count(*) < 20000 FROM launch") == "1");
}

TEST_CASE("what not even totals have room for is counted", "[make_space][one_thread]") {
    Trace trace(1, kMegabyte);
    Events events;
    int64_t calls = 0;
    for (int64_t i = 0; i < 30; ++i) {
        // Streams that live: nothing of them can go.
        for (int64_t n = 0; n < 1000; ++n, ++calls) {
            const auto stream = static_cast<uint64_t>(0x100000 + 16 * calls);
            events.call("cuStreamCreate", kSecond + calls * 1000, kSecond + calls * 1000 + 1, {stream, 0, 0});
        }
        write_in_the_end(trace, events);
        REQUIRE(size_of(trace) <= kMegabyte);
    }
    launch(events, 100 * kSecond);
    write_in_the_end(trace, events);
    RowsOf<row::cost> cost;
    Rows* const observed[] = {&cost};
    cost.add({100 * kSecond, kSecond, 1000, 7, 0, 0, 7, 0, 5});
    REQUIRE(trace.store().write({{}, {}, {}, 100 * kSecond, observed}));
    CHECK(trace.ask("SELECT (SELECT value FROM meta WHERE key = 'samples_left_out'), count(*) FROM cost") ==
          "1|0");
    trace.open();
    launch(events, 101 * kSecond);
    write_in_the_end(trace, events);
    CHECK(trace.ask("SELECT reason FROM v_drop") == "size");
    CHECK(
        trace.ask(
            "SELECT produced, recorded + dropped, unknown, dropped > 1000, recorded > 1000 FROM v_ledger") ==
        "30002|30002|0|1|1");
    CHECK(trace.ask("SELECT sum(calls) = (SELECT recorded FROM v_ledger) FROM v_api_total") == "1");
    CHECK(trace.ask("PRAGMA integrity_check") == "ok");
}

TEST_CASE("where nothing else can go all but the newest second is put together", "[make_space][one_thread]") {
    Trace trace(1, 840 * 1024);
    Events events;
    // So many series that they take the room in the seconds of one minute.
    for (int64_t second = 1; second <= 60; ++second) {
        for (uint64_t i = 0; i < 180; ++i)
            events.call("cuMemcpyHtoDAsync_v2", second * kSecond + static_cast<int64_t>(i) * 1000,
                        second * kSecond + static_cast<int64_t>(i) * 1000 + 1,
                        {0x7000, 0x100, 64, 0x5000 + 16 * i});
        write_in_the_end(trace, events);
        REQUIRE(size_of(trace) <= 840 * 1024);
    }
    CHECK(trace.ledger() == "10800|10800|0|0|0|0");
    CHECK(trace.ask("SELECT sum(copies), sum(bytes), max(copies) FROM v_copy_total") == "10800|691200|60");
}

TEST_CASE("with a reader in it a trace keeps its size, and goes on when the reader leaves",
          "[make_space][one_thread]") {
    Trace trace(1, 4 * kMegabyte);
    Events events;
    REQUIRE(write_seconds(trace, events, 1, 100));
    int64_t second = 100;
    {
        const Reader reader(trace);
        for (; second < 1000; ++second) {
            if (!write_seconds(trace, events, second, second + 1)) break;
            REQUIRE(size_of(trace) <= 4 * kMegabyte);
        }
        CHECK(second < 1000);
        CHECK(trace.store().why_not() == Drop::reader);
        CHECK(size_of(trace) <= 4 * kMegabyte);
    }
    // A little later.
    bool written = false;
    for (int i = 0; i < 100 && !written; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        written = events.write(trace.store());
    }
    CHECK(written);
    CHECK(write_seconds(trace, events, second + 1, second + 100));
    CHECK(size_of(trace) <= 4 * kMegabyte);
    CHECK(trace.ledger().ends_with("|0|0|0|0"));
}

TEST_CASE("where the disk is nearly full nothing is written", "[make_space][one_thread]") {
    Trace trace(1, 4 * kMegabyte, int64_t{1} << 60);
    Events events;
    launch(events, 100);
    CHECK_FALSE(events.write(trace.store()));
    CHECK(trace.store().why_not() == Drop::disk);
    CHECK(trace.ledger() == "0|0|0|0|0|0");
}

TEST_CASE("a trace that may take less from now on grows no more", "[make_space][one_thread]") {
    Trace trace(1, 8 * kMegabyte);
    Events events;
    REQUIRE(write_seconds(trace, events, 1, 200, 2000));
    trace.open();
    const int64_t before = size_of(trace);
    {
        sqlite3* base = nullptr;
        REQUIRE(sqlite3_open(trace.path().c_str(), &base) == SQLITE_OK);
        REQUIRE(sqlite3_exec(base, "UPDATE meta SET value = 4194304 WHERE key = 'max_bytes'", nullptr,
                             nullptr, nullptr) == SQLITE_OK);
        sqlite3_close(base);
    }
    trace.open();
    REQUIRE(write_seconds(trace, events, 200, 400, 2000));
    trace.open();
    CHECK(size_of(trace) <= before + 512 * 1024);
    CHECK(trace.ask("SELECT (page_count - freelist_count) * 4096 < 4194304 FROM pragma_page_count, "
                    "pragma_freelist_count") == "1");
    CHECK(trace.ledger().ends_with("|0|0|0|0"));
}

TEST_CASE("samples of what is gone are thinned", "[make_space][one_thread]") {
    Trace trace(1, 4 * kMegabyte);
    Events events;
    RowsOf<row::cost> cost;
    Rows* const observed[] = {&cost};
    for (int64_t second = 1; second <= 300; ++second) {
        for (int64_t i = 0; i < 1000; ++i) launch(events, second * kSecond + i * 1'000'000);
        REQUIRE(events.write(trace.store()));
        cost.add({second * kSecond, kSecond, 1000, 7, 0, 0, 7, 0, 5});
        REQUIRE(trace.store().write({{}, {}, {}, second * kSecond, observed}));
        cost.clear();
    }
    CHECK(trace.ask("SELECT count(*) < 200, sum(span_ns), sum(hook_ns) FROM cost") ==
          "1|" + std::to_string(300 * kSecond) + "|2100");
}

TEST_CASE("steps that are very many are told together, in the last minute, too", "[make_space][one_thread]") {
    Trace trace(1, 2 * kMegabyte);
    Events events;
    for (int64_t i = 0; i < 200'000; ++i) {
        const int64_t ns = kSecond + i * 100'000;
        events.event(kNoApi, EventKind::marker, ns, ns, {0, static_cast<uint64_t>(Marker::step)});
        if (i % 2000 != 1999) continue;
        INFO(i << " " << Store::failure());
        REQUIRE(events.write(trace.store()));
        REQUIRE(size_of(trace) <= 2 * kMegabyte);
    }
    // All of 100 us each; the last has no end.
    CHECK(trace.ask("SELECT sum(steps), sum(sum_ns), min(min_ns), max(max_ns) FROM v_step_total") ==
          "200000|19999900000|100000|100000");
    CHECK(trace.ledger() == "200000|200000|0|0|0|0");
}

TEST_CASE("samples that have piled up go in by parts", "[make_space][one_thread]") {
    Trace trace(1, 4 * kMegabyte);
    Events events;
    REQUIRE(write_seconds(trace, events, 1, 300));
    RowsOf<row::nvml> nvml;
    for (int64_t i = 0; i < 30'000; ++i)
        nvml.add(
            {300 * kSecond + i * 1'000'000, 0, nvml.text("power_mw"), Rows::real(static_cast<double>(i))});
    std::vector<ClockPair> pairs;
    for (int64_t i = 0; i < 40'000; ++i)
        pairs.push_back({static_cast<uint64_t>(i), 300 * kSecond + i * 100'000, 5});
    Rows* const observed[] = {&nvml};
    const bool written = trace.store().write({{}, {}, pairs, 360 * kSecond, observed});
    INFO(Store::failure());
    REQUIRE(written);
    CHECK(trace.ask("SELECT count(*) > 20000 FROM nvml") == "1");
    // More than the whole trace has room for.
    nvml.clear();
    for (int64_t i = 0; i < 300'000; ++i)
        nvml.add({340 * kSecond + i * 1000, 0, nvml.text("power_mw"), Rows::real(static_cast<double>(i))});
    launch(events, 350 * kSecond);
    const bool rest = trace.store().write({{}, {}, {}, 360 * kSecond, observed});
    INFO(Store::failure());
    REQUIRE(rest);
    trace.write(events);
    CHECK(trace.ask("SELECT value > 1000 FROM meta WHERE key = 'samples_left_out'") == "1");
    CHECK(size_of(trace) <= 4 * kMegabyte);
    nvml.clear();
    REQUIRE(write_seconds(trace, events, 360, 400));
    CHECK(size_of(trace) <= 4 * kMegabyte);
    CHECK(trace.ledger().ends_with("|0|0|0|0"));
}

TEST_CASE("a small trace tells fewer things apart", "[make_space][one_thread]") {
    Trace trace(1, 4 * kMegabyte);
    Events events;
    constexpr uint64_t kFunctions = 30'000;
    for (uint64_t i = 0; i < kFunctions; ++i) {
        const int64_t ns = kSecond + static_cast<int64_t>(i) * 10'000'000;
        const uint64_t function = 0x10000 + i * 16, exec = 0x900000 + i * 16;
        events.call("cuModuleGetFunction", ns, ns + 1, {function, 0, 1},
                    {.text = std::string(100, 'k') + std::to_string(i)});
        events.call("cuLaunchKernel", ns + 2, ns + 5, {function, 0x5000, grid(i + 1), kBlock});
        events.call("cuGraphInstantiateWithFlags", ns + 6, ns + 7, {exec, 0x9a, 0});
        events.call("cuGraphLaunch", ns + 8, ns + 9, {exec, 0x5000});
        events.call("cuGraphExecDestroy", ns + 10, ns + 11, {exec});
        if (i % 500 != 499) continue;
        write_in_the_end(trace, events);
        REQUIRE(size_of(trace) <= 4 * kMegabyte);
    }
    CHECK(trace.ledger() == "150000|150000|0|0|0|0");
    CHECK(trace.ask("SELECT sum(launches), count(*) < 1100, count(*) > 1000 FROM v_kernel_total") ==
          "30000|1|1");
    CHECK(trace.ask("SELECT count(*) < 1700 FROM shape") == "1");
    CHECK(trace.ask("SELECT count(*) <= 129 FROM graph") == "1");
    CHECK(trace.ask("SELECT count(*) FROM meta WHERE key LIKE '%_left_out' AND value > 1000") == "4");
    CHECK(trace.ask("SELECT count(*) > 10000 FROM launch") == "1");
}

}  // namespace make_space_test
