#include <random>

#include "repeats.h"
#include "shim/sqlite/database.h"
#include "shim/trace/rollup.h"
#include "shim/trace/rollup_merge.h"
#include "trace.h"

namespace rollup_test {

using namespace trace;

namespace {

// Each view of totals beside what the rows add up to.
constexpr const char* kTotals[][2] = {
    {"SELECT kernel, symbol, launches, call_sum_ns, call_min_ns, call_max_ns, device_sum_ns FROM "
     "v_kernel_total",
     "SELECT coalesce(kernel, '(name not known)'), symbol, count(*), sum(dur_ns), min(dur_ns), max(dur_ns),"
     " sum(device_dur_ns) FROM v_launch WHERE captured = 0 AND failed = 0 AND unfinished = 0 GROUP BY 1, 2"},
    {"SELECT kind, stream_id, source, target, blocking, copies, bytes, call_sum_ns FROM v_copy_total"
     " ORDER BY 1, 2, 3, 4, 5",
     "SELECT kind, stream_id, source, target, blocking, count(*), sum(bytes), sum(dur_ns) FROM v_copy"
     " WHERE captured = 0 AND failed = 0 AND unfinished = 0 GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5"},
    {"SELECT * FROM v_sync_total",
     "SELECT api, target_kind, count(*), sum(calls), sum(dur_ns), max(dur_ns) FROM v_sync WHERE unfinished = "
     "0"
     " GROUP BY api, target_kind"},
    {"SELECT * FROM v_collective_total",
     "SELECT communicator, ranks, api, dtype, op, bytes, count(*), sum(bytes), sum(dur_ns) FROM v_collective"
     " WHERE captured = 0 AND failed = 0 AND unfinished = 0 GROUP BY communicator, api, dtype, op, bytes"},
    {"SELECT api, calls, sum_ns, max_ns, failed FROM v_api_total",
     "SELECT a.name, sum(v.calls), sum(v.dur_ns), max(v.dur_ns), sum((v.flags & 2) / 2) FROM v_all v"
     " JOIN api a ON a.id = v.api_id GROUP BY a.id"},
    {"SELECT sum(events) FROM v_series_total JOIN series ON id = series_id WHERE kind NOT LIKE '%_device'",
     "SELECT count(*) FROM v_all"},
};

void check_totals(const Trace& trace) {
    for (const auto& [from_rollups, from_rows] : kTotals)
        CHECK(trace.ask(from_rollups) == trace.ask(from_rows));
}

constexpr int64_t kSecond = 1'000'000'000;

// Calls of all kinds, at any time of the last few seconds, some of them failed, captured or unfinished.
class Program {
  public:
    explicit Program(uint32_t seed) : chance_(seed) {}

    Events some(int calls) {
        Events events;
        for (int i = 0; i < calls; ++i) call(events);
        now_ns_ += kSecond / 2;
        return events;
    }

  private:
    uint64_t any(uint64_t below) { return chance_() % below; }

    void call(Events& events) {
        const int64_t enter = now_ns_ - static_cast<int64_t>(any(3 * kSecond));
        const int64_t exit = enter + static_cast<int64_t>(any(1u << any(24)));
        Options options = {.thread = static_cast<int32_t>(1 + any(3))};
        const uint64_t luck = any(20);
        if (luck == 0) options.flags = kFailed;
        if (luck == 1) options.flags = kCaptured;
        if (luck == 2) options.unfinished = true;
        const uint64_t stream = any(2) == 0 ? 0 : 0x5000 + 0x100 * any(4);
        switch (any(8)) {
            case 0:
            case 1:
                events.call("cuLaunchKernel", enter, exit, {0xf00 + 16 * any(5), stream, kGrid, kBlock},
                            options);
                break;
            case 2:
                events.call("cuMemcpyHtoDAsync_v2", enter, exit, {0x7000, 0x100, any(1 << 20), stream},
                            options);
                break;
            case 3:
                events.call("cuMemcpyDtoH_v2", enter, exit, {0x7000, 0x100, any(1 << 20), 0}, options);
                break;
            case 4:
                events.call("cuStreamQuery", enter, exit, {stream, 1 + any(50), any(100)}, options);
                break;
            case 5:
                events.call("ncclAllReduce", enter, exit,
                            {0xc0, uint64_t{1} << any(3), 7 | any(2) << 8, stream}, options);
                break;
            case 6:
                events.call(
                    "cuModuleGetFunction", enter, exit, {0xf00 + 16 * any(5), 0x700, 1},
                    {.thread = options.thread, .text = std::string(1, static_cast<char>('a' + any(4)))});
                break;
            default:
                events.call("cuMemAlloc_v2", enter, exit, {0x7000 + any(9) * 256, 64, 0, 2}, options);
        }
    }

    std::mt19937_64 chance_;
    int64_t now_ns_ = 100 * kSecond;
};

}  // namespace

TEST_CASE("totals are what the rows add up to, whatever comes when", "[rollup]") {
    for (uint32_t seed = 1; seed <= repeats(6u, 2u); ++seed) {
        Trace trace;
        Program program(seed);
        for (int batch = 0; batch < 12; ++batch) {
            Events events = program.some(200);
            trace.write(events);
            if (batch % 4 == 1) trace.open(batch % 8 == 1 ? Store::Role::recovery : Store::Role::writer);
            check_totals(trace);
        }
        CHECK(trace.ask("SELECT count(DISTINCT second) > 5, count(DISTINCT seconds) FROM rollup") == "1|1");
    }
}

TEST_CASE("a batch that comes again is counted once", "[rollup]") {
    Trace trace;
    Program program(9);
    Events events = program.some(100);
    trace.write(events);
    sqlite3* other = nullptr;
    REQUIRE(sqlite3_open(trace.path().c_str(), &other) == SQLITE_OK);
    REQUIRE(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK);
    Events again = program.some(100);
    CHECK_FALSE(again.write(trace.store()));
    REQUIRE(sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(other);
    trace.open();
    trace.write(again);
    CHECK(trace.ask("SELECT count(*) FROM v_all") == "200");
    check_totals(trace);
}

TEST_CASE("a kernel's total has the name that came later", "[rollup]") {
    Trace trace;
    Events events;
    events.call("cuLaunchKernel", 100, 104, {0xf00, 0, kGrid, kBlock});
    trace.write(events);
    CHECK(trace.ask("SELECT kernel, launches FROM v_kernel_total") == "(name not known)|1");
    events.event(kNoApi, EventKind::named, 110, 111, {0xf00, 0, 3}, {.text = "add"});
    events.call("cuLaunchKernel", 200, 210, {0xf00, 0, kGrid, kBlock});
    trace.write(events);
    CHECK(trace.ask("SELECT kernel, launches, call_sum_ns FROM v_kernel_total") == "add|2|14");
}

TEST_CASE("device times add to the second of their launch", "[rollup]") {
    Trace trace;
    Events events;
    events.call("cuLaunchKernel", 2 * kSecond, 2 * kSecond + 4, {0xf00, 0, kGrid, kBlock});
    trace.write(events);
    RowsOf<row::launch_device, 1> times;
    CHECK(trace.ask("SELECT series_id FROM rollup") == "1");
    times.add({2 * kSecond, 10, 500, 1}, 1);
    Rows* const observed[] = {&times};
    REQUIRE(trace.store().write({{}, {}, {}, 5 * kSecond, observed}));
    CHECK(trace.ask("SELECT second, kind, events, sum_ns, min_ns, max_ns FROM rollup JOIN series"
                    " ON id = series_id") == "2|launch|1|4|4|4 ; 2|launch_device|1|500|500|500");
    CHECK(trace.ask("SELECT launches, call_sum_ns, device_sum_ns FROM v_kernel_total") == "1|4|500");
}

TEST_CASE("a device time that is said twice counts once", "[rollup]") {
    Trace trace;
    Events events;
    for (int64_t i = 0; i < 3; ++i)
        events.call("cuLaunchKernel", 2 * kSecond + i, 2 * kSecond + i + 4, {0xf00, 0, kGrid, kBlock});
    trace.write(events);
    RowsOf<row::launch_device, 1> times;
    Rows* const observed[] = {&times};
    times.add({2 * kSecond, 10, 500, 1}, 1);
    REQUIRE(trace.store().write({{}, {}, {}, 5 * kSecond, observed}));
    times.add({2 * kSecond + 1, 10, 300, 1}, 1);
    times.add({2 * kSecond + 1, 10, 300, 1}, 1);
    times.add({2 * kSecond + 2, 10, 200, 1}, 1);
    REQUIRE(trace.store().write({{}, {}, {}, 6 * kSecond, observed}));
    CHECK(trace.ask("SELECT count(*), sum(dur_ns) FROM launch_device") == "3|1000");
    CHECK(trace.ask("SELECT device_sum_ns FROM v_kernel_total") == "1000");
}

TEST_CASE("device times that go in by parts count once", "[rollup]") {
    Trace trace(1, 4 << 20);
    Events events;
    constexpr int64_t kMany = 60'000;
    RowsOf<row::launch_device, 1> times;
    Rows* const observed[] = {&times};
    for (int64_t i = 0; i < kMany; ++i) {
        events.call("cuLaunchKernel", 2 * kSecond + i, 2 * kSecond + i + 4, {0xf00, 0, kGrid, kBlock});
        times.add({2 * kSecond + i, 10, 5, 1}, 1);
        if (i % 2000 == 1999) trace.write(events);
    }
    REQUIRE(trace.store().write({{}, {}, {}, 5 * kSecond, observed}));
    CHECK(times.count() == 0);
    CHECK(trace.ask("SELECT launches, device_sum_ns FROM v_kernel_total") == "60000|300000");
}

TEST_CASE("polls are as many calls, each of the mean length", "[rollup]") {
    Trace trace;
    Events events;
    events.call("cuStreamQuery", 1000, 2000, {0x5000, 100, 400});
    trace.write(events);
    // 100 calls of 4 ns: bucket 4
    CHECK(trace.ask("SELECT events, calls, sum_ns, max_ns, hex(histogram) FROM rollup") ==
          "1|100|400|400|0464");
}

TEST_CASE("older seconds are put together by adding", "[rollup]") {
    Trace trace;
    Program program(4);
    Events events;
    for (int batch = 0; batch < 400; ++batch) {
        events = program.some(20);
        trace.write(events);
    }
    const auto totals = [&] {
        std::string all;
        for (const auto& total : kTotals) all += trace.ask(total[0]) + "\n";
        return all;
    };
    const auto histograms = [&] {
        Database base(trace.path(), Database::Open::read);
        Statement rows =
            base.prepare("SELECT series_id || hex(histogram_sum(histogram)) FROM rollup GROUP BY series_id");
        std::string all;
        while (rows.step()) all += rows.text(0) + "\n";
        return all;
    };
    const std::string before = totals(), shapes = histograms();
    const int rows_before = std::stoi(trace.ask("SELECT count(*) FROM rollup"));
    Database base(trace.path(), Database::Open::write);
    Samples samples(base);
    RollupMerge merge(base, samples);
    int64_t freed = 0;
    int spans = 0;
    for (;; base.commit()) {
        base.begin(false);
        const auto rows = merge.merge_some(50);
        if (!rows) break;
        freed += rows->freed;
        ++spans;
    }
    base.commit();
    CHECK(spans > 12);
    CHECK(totals() == before);
    CHECK(histograms() == shapes);
    CHECK(std::stoi(trace.ask("SELECT count(*) FROM rollup")) == rows_before - freed);
    CHECK(freed > rows_before / 4);
    CHECK(trace.ask("SELECT DISTINCT seconds FROM rollup ORDER BY 1") == "1 ; 60");
    CHECK(trace.ask("SELECT count(*) FROM rollup WHERE second % seconds != 0") == "0");
    CHECK(trace.ask(
              "SELECT min(second) > (SELECT max(second) - 61 FROM rollup) FROM rollup WHERE seconds = 1") ==
          "1");
}

TEST_CASE("steps have rows of their own, and are put together by adding", "[rollup]") {
    Trace trace;
    Events events;
    const auto step = [&](int64_t ns, uint64_t samples) {
        events.event(kNoApi, EventKind::marker, ns, ns, {samples, static_cast<uint64_t>(Marker::step_n)});
    };
    // Of 1 s each, then one of 500 s, whose end is the last.
    for (int i = 0; i < 100; ++i) step(10 * kSecond + i * kSecond, 8);
    step(110 * kSecond, 8);
    step(610 * kSecond, 8);
    events.call("cuInit", 700 * kSecond, 700 * kSecond + 1, {});
    trace.write(events);
    const char* const sums =
        "SELECT sum(steps), sum(samples), sum(sum_ns), min(min_ns), max(max_ns) FROM v_step_total";
    CHECK(trace.ask("SELECT steps, samples, sum_ns FROM v_step_total LIMIT 1") == "1|8|1000000000");
    const std::string before = "102|816|600000000000|1000000000|500000000000";
    CHECK(trace.ask(sums) == before);
    Database base(trace.path(), Database::Open::write);
    Samples samples(base);
    RollupMerge merge(base, samples);
    base.begin(false);
    while (merge.merge_some(50)) continue;
    base.commit();
    CHECK(trace.ask(sums) == before);
    CHECK(std::stoi(trace.ask("SELECT count(*) FROM step_total")) < 20);
    // 100 of 1 s: bucket 0x73; and one
    CHECK(trace.ask("SELECT steps, hex(histogram) FROM step_total ORDER BY steps DESC LIMIT 1") ==
          "101|73649701");
}

TEST_CASE("a step of NVTX lasts as its range does", "[rollup]") {
    Trace trace;
    Events events;
    const auto span = [&](Span what, int64_t ns, const char* text) {
        const std::string said = text;
        events.event(kNoApi, EventKind::span, ns, ns, {span_word(what, false, 0, 0), 0, 0}, {.text = said});
    };
    span(Span::push, 1000, "ProfilerStep#1");
    trace.write(events);
    trace.open();  // it is still open there
    span(Span::pop, 1500, "");
    span(Span::push, 2000, "forward");
    span(Span::pop, 2100, "");
    trace.write(events);
    CHECK(trace.ask("SELECT enter_ns, source, steps, sum_ns FROM v_step_total") == "1000|range|1|500");
}

TEST_CASE("too many series are not told apart by stream, then not at all", "[rollup]") {
    Trace trace;
    Tables tables;
    SeriesList series(tables, 4);
    const auto launch = [](int64_t name, int64_t stream) {
        return Series{.kind = SeriesKind::launch, .flags = 0, .api = 1, .stream = stream, .object = name};
    };
    for (int64_t stream = 1; stream <= 4; ++stream) CHECK(series.id(launch(1, stream)) == stream);
    CHECK(series.left_out() == 0);
    CHECK(series.id(launch(1, 5)) == 5);
    CHECK(series.id(launch(1, 6)) == 5);
    CHECK(series.id(launch(2, 6)) == 6);
    CHECK(series.id(launch(3, 6)) == 7);
    CHECK(series.id(launch(4, 6)) == 7);
    CHECK(series.id(launch(1, 2)) == 2);
    CHECK(series.left_out() == 5);
    CHECK(tables.series.count() == 7);
}

}  // namespace rollup_test
