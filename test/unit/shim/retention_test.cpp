#include "shim/retention.h"

#include <sys/stat.h>

#include <thread>

#include "shim/file_size.h"
#include "trace.h"

using namespace trace;

namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kMegabyte = 1 << 20;

int64_t size_of(const Trace& trace) {
    int64_t bytes = 0;
    for (const char* suffix : {"", "-wal", "-shm"}) {
        struct stat facts;
        if (stat((trace.path() + suffix).c_str(), &facts) == 0) bytes += facts.st_size;
    }
    return bytes;
}

void launch(Events& events, int64_t enter_ns, std::string text = {}) {
    events.call("cuLaunchKernel", enter_ns, enter_ns + 4, {0xf00, 0x5000, kGrid, kBlock},
                {.text = std::move(text)});
}

// `per_second` launches in each second from `from_s` on.
bool write_seconds(Trace& trace, Events& events, int64_t from_s, int64_t until_s, int64_t per_second = 1000) {
    for (int64_t second = from_s; second < until_s; ++second) {
        for (int64_t i = 0; i < per_second; ++i)
            launch(events, second * kSecond + i * (kSecond / per_second));
        if (!events.write(trace.store())) return false;
    }
    return true;
}

// Somebody who reads and does not stop.
class Reader {
  public:
    explicit Reader(const Trace& trace) {
        REQUIRE(sqlite3_open_v2(trace.path().c_str(), &base_, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK);
        REQUIRE(sqlite3_exec(base_, "BEGIN; SELECT count(*) FROM launch", nullptr, nullptr, nullptr) ==
                SQLITE_OK);
    }
    ~Reader() { sqlite3_close(base_); }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

  private:
    sqlite3* base_ = nullptr;
};

}  // namespace

TEST_CASE("a trace keeps its size, and says what is gone", "[retention]") {
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

TEST_CASE("what is kept is known again when the trace is opened again", "[retention]") {
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

TEST_CASE("below its size a trace has every row", "[retention]") {
    Trace trace(1, 4 * kMegabyte);
    Events events;
    REQUIRE(write_seconds(trace, events, 1, 20));
    CHECK(trace.ask("SELECT count(*) FROM launch") == "19000");
    CHECK(trace.ask("SELECT count(*) FROM summarised") == "0");
}

TEST_CASE("where one span alone is too much its older part goes", "[retention]") {
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

TEST_CASE("a size that leaves no room for rows leaves the totals", "[retention]") {
    Trace trace(1, 300 * 1024);
    Events events;
    for (int64_t second = 1; second <= 20; ++second) {
        for (int64_t i = 0; i < 1000; ++i) launch(events, second * kSecond + i * 1'000'000);
        bool written = false;
        for (int i = 0; i < 50 && !written; ++i) {
            written = events.write(trace.store());
            if (!written) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        INFO(Store::failure());
        REQUIRE(written);
    }
    CHECK(trace.ledger() == "20000|20000|0|0|0|0");
    CHECK(trace.ask("SELECT count(*) < 20000 FROM launch") == "1");
}

TEST_CASE("memory that is held stays known", "[retention]") {
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

TEST_CASE("events of the program that are long gone are forgotten", "[retention]") {
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

TEST_CASE("with a reader in it a trace keeps its size, and goes on when the reader leaves", "[retention]") {
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

TEST_CASE("where the disk is nearly full nothing is written", "[retention]") {
    Trace trace(1, 4 * kMegabyte, int64_t{1} << 60);
    Events events;
    launch(events, 100);
    CHECK_FALSE(events.write(trace.store()));
    CHECK(trace.store().why_not() == Drop::disk);
    CHECK(trace.ledger() == "0|0|0|0|0|0");
}

TEST_CASE("a trace that may take less from now on grows no more", "[retention]") {
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

TEST_CASE("samples of what is gone are thinned", "[retention]") {
    Trace trace(1, 4 * kMegabyte);
    Events events;
    RowsOf<9> cost("cost");
    Rows* const observed[] = {&cost};
    for (int64_t second = 1; second <= 300; ++second) {
        for (int64_t i = 0; i < 1000; ++i) launch(events, second * kSecond + i * 1'000'000);
        REQUIRE(events.write(trace.store()));
        cost.add(second * kSecond, kSecond, 1000, 7, 0, 0, 7, 0, 5);
        REQUIRE(trace.store().write({{}, {}, {}, second * kSecond, observed}));
        cost.clear();
    }
    CHECK(trace.ask("SELECT count(*) < 200, sum(span_ns), sum(hook_ns) FROM cost") ==
          "1|" + std::to_string(300 * kSecond) + "|2100");
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

TEST_CASE("rows that come in bursts go in parts, too", "[retention]") {
    Trace trace(1, 2 * kMegabyte);
    Events events;
    for (int64_t second = 9; second < 400; second += 10) {
        for (int64_t i = 0; i < 20'000; ++i) {
            launch(events, second * kSecond + i * 500);
            if (i % 2000 != 1999) continue;
            REQUIRE(events.write(trace.store()));
            REQUIRE(size_of(trace) <= 2 * kMegabyte);
        }
        if (second % 100 == 99) trace.open();
    }
    CHECK(trace.ledger() == "800000|800000|0|0|0|0");
}

TEST_CASE("steps that are very many are told together, in the last minute, too", "[retention]") {
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

TEST_CASE("samples that have piled up go in by parts", "[retention]") {
    Trace trace(1, 4 * kMegabyte);
    Events events;
    REQUIRE(write_seconds(trace, events, 1, 300));
    RowsOf<4> nvml("nvml", 1u << 2);
    for (int64_t i = 0; i < 40'000; ++i) nvml.add(300 * kSecond + i * 1'000'000, 0, nvml.text("power_mw"), i);
    std::vector<ClockPair> pairs;
    for (int64_t i = 0; i < 60'000; ++i)
        pairs.push_back({static_cast<uint64_t>(i), 300 * kSecond + i * 100'000, 5});
    Rows* const observed[] = {&nvml};
    const bool written = trace.store().write({{}, {}, pairs, 360 * kSecond, observed});
    INFO(Store::failure());
    REQUIRE(written);
    CHECK(trace.ask("SELECT count(*) FROM nvml") == "40000");
    nvml.clear();
    REQUIRE(write_seconds(trace, events, 360, 400));
    CHECK(size_of(trace) <= 4 * kMegabyte);
    CHECK(trace.ledger().ends_with("|0|0|0|0"));
}

TEST_CASE("memory whose addresses are used again and again does not stay", "[retention]") {
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

TEST_CASE("opening it again changes no slot", "[retention]") {
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
