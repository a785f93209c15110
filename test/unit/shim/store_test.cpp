#include "trace.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>

#include "shim/rows/tables.h"

namespace store_test {

using namespace trace;

TEST_CASE("a trace that was just made has its tables and says who is traced", "[store]") {
    Trace trace(2);
    CHECK(trace.ask("SELECT value FROM meta WHERE key = 'host'") == "here");
    CHECK(trace.ask("SELECT value FROM meta WHERE key = 'uuid'") == "ab" + std::string(30, '0'));
    CHECK(trace.ask("SELECT rank FROM process") == "-");
    CHECK(trace.ask("SELECT id, name FROM device") == "0|Simulated GPU ; 1|Simulated GPU");
    CHECK(trace.ask("PRAGMA user_version") == "2");
    CHECK(trace.ledger() == "0|0|0|0|0|0");
}

TEST_CASE("a trace is for its owner's eyes", "[store]") {
    umask(0);
    Trace trace;
    for (const char* suffix : {"", "-wal", "-shm"}) {
        struct stat facts;
        REQUIRE(stat((trace.path() + suffix).c_str(), &facts) == 0);
        CHECK((facts.st_mode & 0777) == 0600);
    }
}

TEST_CASE("nothing is written through a link", "[store]") {
    Folder folder;
    REQUIRE(symlink((folder / "elsewhere").c_str(), (folder / "trace.db").c_str()) == 0);
    CHECK_FALSE(Store::create((folder / "trace.db").c_str(), TraceIdentity{}, {}));
    CHECK(access((folder / "elsewhere").c_str(), F_OK) != 0);
}

// NAME: COLUMN, COLUMN; as tables.def says.
constexpr const char* kTables[] = {
#define TABLE(name, ...) #name ":"
#define COLUMN(name, type) " " #name
#define COLUMN_AS(name, field, type) COLUMN(name, type)
#define END(...) ,
#include "shim/schema/tables.def"
};

TEST_CASE("a trace has the tables of tables.def, and their columns in that order", "[store]") {
    Trace trace;
    for (const std::string table : kTables) {
        const std::string name = table.substr(0, table.find(':'));
        CHECK(trace.ask("SELECT '" + name +
                        ": ' || group_concat(name, ' ') FROM (SELECT name FROM"
                        " pragma_table_info('" +
                        name + "') ORDER BY cid)") == table);
    }
    CHECK(trace.ask("SELECT count(*) FROM sqlite_master WHERE type = 'table'") ==
          std::to_string(std::size(kTables)));
}

TEST_CASE("every view can be read", "[store]") {
    Trace trace;
    const std::string views = trace.ask("SELECT name FROM sqlite_master WHERE type = 'view'");
    for (size_t at = 0; at != std::string::npos;) {
        const size_t end = views.find(" ; ", at);
        trace.ask("SELECT * FROM " + views.substr(at, end - at));
        at = end == std::string::npos ? end : end + 3;
    }
    CHECK(views.find("v_launch") != std::string::npos);
}

TEST_CASE("a launch has its function, shape, stream, thread and times", "[store]") {
    Trace trace;
    Events events;
    events.call("cuModuleGetFunction", 10, 20, {0xf00, 0x700, 4}, {.text = "_Z3addPfS_i"});
    events.call("cuStreamCreate", 30, 40, {0x5000, 0, 1});
    events.call("cuLaunchKernel", 100, 104, {0xf00, 0x5000, grid(7, 5, 3), block(64, 4, 2, 1024)});
    trace.write(events);
    CHECK(trace.ask("SELECT enter_ns, exit_ns, kernel, symbol, api, stream, thread_id FROM v_launch") ==
          "100|104|add(float*, float*, int)|_Z3addPfS_i|cuLaunchKernel|0x5000|1");
    CHECK(trace.ask(
              "SELECT grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, cluster_x, attributes "
              "FROM v_launch") == "7|5|3|64|4|2|1024|-|-");
    CHECK(trace.ledger() == "3|3|0|0|0|0");
}

TEST_CASE("the second slot of a launch is a part of it", "[store]") {
    Trace trace;
    const uint16_t number = api("cuLaunchKernelEx");
    const auto second = [&](Events& events, int64_t enter_ns) {
        events.event(number, EventKind::odd_launch, enter_ns, enter_ns + 1,
                     {2 | 4ull << 16 | 8ull << 32, 1 << 4});
    };
    SECTION("right behind it") {
        Events events;
        events.call("cuLaunchKernelEx", 100, 104, {0xf00, 0, kGrid, kBlock});
        second(events, 100);
        events.call("cuLaunchKernelEx", 200, 204, {0xf00, 0, kGrid, kBlock});
        trace.write(events);
        CHECK(trace.ledger() == "2|2|0|0|0|0");
    }
    SECTION("told before it, because its call was still open") {
        Events first, later;
        second(first, 100);
        trace.write(first);
        later.call("cuLaunchKernelEx", 100, 104, {0xf00, 0, kGrid, kBlock}).position = ~uint64_t{0};
        later.call("cuLaunchKernelEx", 200, 204, {0xf00, 0, kGrid, kBlock});
        trace.write(later);
    }
    CHECK(trace.ask("SELECT cluster_x, cluster_y, cluster_z, attributes FROM v_launch") ==
          "2|4|8|16 ; -|-|-|-");
}

TEST_CASE("equal starts stand apart and are counted", "[store]") {
    Trace trace;
    Events events;
    for (int32_t thread = 1; thread <= 3; ++thread)
        events.call("cuLaunchKernel", 100, 104, {0xf00, 0, kGrid, kBlock}, {.thread = thread});
    events.call("cuLaunchKernel", 101, 105, {0xf00, 0, kGrid, kBlock});
    trace.write(events);
    CHECK(trace.ask("SELECT enter_ns FROM launch") == "100 ; 101 ; 102 ; 103");
    CHECK(trace.ask("SELECT value FROM meta WHERE key = 'moved_starts'") == "3");

    // Calls that were open when the rows above were written.
    Events late;
    late.call("cuLaunchKernel", 101, 999, {0xf00, 0, kGrid, kBlock});
    late.call("cuLaunchKernel", 101, 999, {0xf00, 0, kGrid, kBlock});
    late.call("cuLaunchKernel", 50, 999, {0xf00, 0, kGrid, kBlock});
    late.call("cuLaunchKernel", 105, 999, {0xf00, 0, kGrid, kBlock});
    trace.open();
    trace.write(late);
    CHECK(trace.ask("SELECT enter_ns FROM launch") == "50 ; 100 ; 101 ; 102 ; 103 ; 104 ; 105 ; 106");
    CHECK(trace.ask("SELECT value FROM meta WHERE key = 'moved_starts'") == "6");
}

TEST_CASE("polls of one slot keep their number and their time", "[store]") {
    Trace trace;
    Events events;
    events.call("cuStreamQuery", 1000, 2000, {0x5000, 250, 400});
    events.call("cuEventQuery", 3000, 3010, {0xe000, 1, 10});
    trace.write(events);
    CHECK(trace.ask("SELECT api, calls, dur_ns, target_kind, stream FROM v_sync") ==
          "cuStreamQuery|250|400|stream|0x5000 ; cuEventQuery|1|10|event|-");
    CHECK(trace.ask("SELECT sum(calls) FROM v_sync_total") == "251");
    CHECK(trace.ledger() == "251|251|0|0|0|0");
}

TEST_CASE("syncs say what was waited for", "[store]") {
    Trace trace;
    Events events;
    events.call("cuCtxSetCurrent", 10, 20, {0xc000});
    events.call("cuCtxSynchronize", 30, 40, {0});
    events.call("cuStreamSynchronize", 50, 60, {0});
    events.call("cuStreamSynchronize_ptsz", 70, 80, {0});
    events.call("cuEventSynchronize", 90, 95, {0xe000});
    trace.write(events);
    CHECK(trace.ask("SELECT api, target_kind, target, stream FROM v_sync") ==
          "cuCtxSynchronize|context|0xc000|- ; cuStreamSynchronize|-|0x0|default ; "
          "cuStreamSynchronize_ptsz|-|0x0|per-thread 1 ; cuEventSynchronize|event|0xe000|-");
}

TEST_CASE("what failed and what did not end is there, without what it never had", "[store]") {
    Trace trace;
    Events events;
    events.call("cuLaunchKernel", 100, 104, {0xf00, 0x5000, kGrid, 700}, {.flags = kFailed});
    events.call("cuMemAlloc_v2", 200, 204, {0, 64, 0, 2}, {.flags = kFailed});
    events.call("cuStreamSynchronize", 300, 0, {0x1234, 77, 77, 77}, {.unfinished = true});
    events.call("cuModuleGetFunction", 400, 0, {1, 2, 3}, {.text = std::string(96, 'x'), .unfinished = true});
    trace.write(events);
    CHECK(trace.ask("SELECT api, failed, kernel, grid_x FROM v_launch") == "cuLaunchKernel|1|-|-");
    CHECK(trace.ask("SELECT failed, bytes FROM v_memory") == "1|-");
    CHECK(trace.ask("SELECT unfinished, dur_ns, target, stream FROM v_sync") == "1|-|0x0|-");
    CHECK(trace.ask("SELECT count(*) FROM handle") == "0");
    CHECK(trace.ledger() == "4|2|0|0|2|0");
}

TEST_CASE("losses are counted by their reason, the newest count stands", "[store]") {
    Trace trace;
    Events events;
    events.call("cuInit", 1, 2, {});
    trace.write(events, {3, 0, 0, 0});
    events.call("cuInit", 10, 12, {});
    events.call("cuInit", 10, 12, {}, {.thread = 2});
    trace.write(events, {5, 1, 0, 0});
    CHECK(trace.ask("SELECT reason, events FROM v_drop") == "full|10 ; no_ring|2");
    CHECK(trace.ledger() == "15|3|0|12|0|0");
}

TEST_CASE("a thread that ended before it had said who it is has no row", "[store]") {
    Trace trace;
    Events events;
    events.event(kNoApi, EventKind::thread, 1, 1, {}, {.unfinished = true});
    trace.write(events);
    CHECK(trace.ask("SELECT count(*) FROM thread") == "0");
}

TEST_CASE("texts, marks and names that the shim asked for are no calls", "[store]") {
    Trace trace;
    Events events;
    events.event(kNoApi, EventKind::thread, 1, 1, {4711, 1, 1});
    events.call("cuLaunchKernel", 100, 104, {0xf00, 0, kGrid, kBlock});
    trace.write(events);
    uint64_t unnamed[4];
    REQUIRE(trace.store().take_unnamed(unnamed) == 1);
    CHECK(unnamed[0] == 0xf00);
    CHECK(trace.store().take_unnamed(unnamed) == 0);
    const std::string long_name(100, 'k');
    events.event(kNoApi, EventKind::named, 110, 111, {0xf00, 0, 100}, {.text = long_name});
    events.event(kNoApi, EventKind::marker, 120, 120, {0, static_cast<uint64_t>(Marker::mark), 5},
                 {.text = "epoch"});
    events.event(kNoApi, EventKind::marker, 130, 130, {64, static_cast<uint64_t>(Marker::step_n)});
    events.call("cuProfilerStart", 140, 141, {});
    trace.write(events);
    CHECK(trace.ask("SELECT kernel FROM v_launch") == long_name);
    CHECK(trace.ask("SELECT kind, name, value FROM v_marker") ==
          "mark|epoch|- ; step|-|64 ; profiler_start|-|-");
    CHECK(trace.ask("SELECT id, tid FROM thread") == "1|4711");
    CHECK(trace.ledger() == "4|4|0|0|0|0");
}

TEST_CASE("a text that was seen while it was being written is counted once", "[store]") {
    Trace trace;
    Events events;
    SECTION("with its event") {
        events.call("cuModuleGetFunction", 10, 20, {0xf00, 0x700, 4}, {.text = "work"});
        events.event(kNoApi, EventKind::text, 11, 11, {});
        CHECK(events.slots(1) == 3);
        events.take_slot(1);  // it is the one that the text above stands for
        trace.write(events);
        CHECK(trace.ledger() == "1|1|0|0|0|0");
    }
    SECTION("alone, when its event ended before it was there") {
        events.call("cuModuleGetFunction", 10, 0, {}, {.unfinished = true});
        events.event(kNoApi, EventKind::text, 11, 0, {}, {.unfinished = true});
        trace.write(events);
        CHECK(trace.ledger() == "1|0|0|0|1|0");
    }
}

TEST_CASE("a batch that could not be written goes in later, once", "[store]") {
    Trace trace;
    Events events;
    events.call("cuStreamCreate", 30, 40, {0x5000, 0, 1});
    events.call("ncclCommInitRank", 50, 60, {0xcc, 1ull << 32, 7, 0});
    events.call("ncclAllReduce", 70, 80, {0xcc, 8, 7, 0x5000}, {.group = 1});
    trace.write(events);
    for (int i = 0; i < 600; ++i)
        events.call("cuModuleGetFunction", 100 + i, 101 + i, {0xf00u + static_cast<uint64_t>(i), 0x700, 4},
                    {.text = std::string(1000, 'a') + std::to_string(i)});
    events.call("ncclAllReduce", 1070, 1080, {0xcc, 8, 7, 0x5000}, {.group = 2});
    signal(SIGXFSZ, SIG_IGN);
    const rlimit little = {4096 * 16, RLIM_INFINITY}, all = {RLIM_INFINITY, RLIM_INFINITY};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &little) == 0);
    CHECK_FALSE(events.write(trace.store()));
    CHECK_FALSE(std::string(Store::failure()).empty());
    CHECK_FALSE(events.write(trace.store()));
    REQUIRE(setrlimit(RLIMIT_FSIZE, &all) == 0);
    usleep(2'000'000);
    trace.write(events);
    CHECK(trace.ask("SELECT seq FROM collective") == "1 ; 2");
    CHECK(trace.ask("SELECT count(*), count(DISTINCT name_id) FROM handle WHERE kind = 'function'") ==
          "600|600");
    CHECK(trace.ledger() == "604|604|0|0|0|0");
}

// What a disk does that writes and fails to sync: the log has the commit, which was called failed.
TEST_CASE("a batch that is in although its commit failed comes again, and is in once", "[store]") {
    Trace trace;
    Events events, again;
    for (Events* each : {&events, &again}) {
        each->call("cuLaunchKernel", 10, 20, {0xf00, 0x5000, 1, 1});
        each->call("cuModuleGetFunction", 30, 40, {0xf00, 0x700, 4}, {.text = std::string(100, 'a')});
    }
    again.call("cuLaunchKernel", 50, 60, {0xf00, 0x5000, 1, 1});
    trace.write(events);
    trace.open();
    CHECK(again.write(trace.store()));
    CHECK(trace.ask("SELECT enter_ns FROM launch") == "10 ; 50");
    CHECK(trace.ask("SELECT sum(launches) FROM v_kernel_total") == "2");
    CHECK(trace.ledger() == "3|3|0|0|0|0");
}

TEST_CASE("what an observer says twice keeps nothing out", "[store]") {
    Trace trace;
    RowsOf<row::launch_device> times;
    times.add({100, 5, 20, 1});
    times.add({100, 6, 21, 1});
    times.add({200, 5, 20, 1});
    Rows* const observed[] = {&times};
    const uint64_t open[] = {3};
    const RingProgress ring = {1, 9, open, {}};
    CHECK(trace.store().write({{}, {&ring, 1}, {}, 1'000, observed}));
    CHECK(trace.ask("SELECT enter_ns, start_offset_ns FROM launch_device") == "100|5 ; 200|5");
    CHECK(trace.ask("SELECT count(*) FROM ring_commit") == "1");
}

TEST_CASE("readers do not keep the writer from writing", "[store]") {
    Trace trace;
    Events events;
    events.call("cuInit", 1, 2, {});
    trace.write(events);
    sqlite3* reader = nullptr;
    REQUIRE(sqlite3_open(trace.path().c_str(), &reader) == SQLITE_OK);
    REQUIRE(sqlite3_exec(reader, "BEGIN; SELECT * FROM call", nullptr, nullptr, nullptr) == SQLITE_OK);
    events.call("cuInit", 3, 4, {});
    CHECK(events.write(trace.store()));
    sqlite3_close(reader);
    CHECK(trace.ask("SELECT count(*) FROM call") == "2");
}

TEST_CASE("somebody who locks the trace delays it", "[store]") {
    Trace trace;
    Events events;
    events.call("cuInit", 1, 2, {});
    sqlite3* other = nullptr;
    REQUIRE(sqlite3_open(trace.path().c_str(), &other) == SQLITE_OK);
    REQUIRE(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK);
    CHECK_FALSE(events.write(trace.store()));
    REQUIRE(sqlite3_exec(other, "COMMIT", nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(other);
    usleep(2'000'000);
    trace.write(events);
    CHECK(trace.ledger() == "1|1|0|0|0|0");
}

TEST_CASE("a launch takes at most 30 bytes", "[store]") {
    Trace trace;
    constexpr int64_t kLaunches = 20'000;
    const int64_t start_ns = 1'000'000'000'000'000;  // eleven days after boot
    Events events;
    for (int64_t i = 0; i < kLaunches; ++i) {
        const int64_t enter_ns = start_ns + i * 5'000;
        const auto function = static_cast<uint64_t>(0xf000 + i % 300);
        events.call("cuLaunchKernel", enter_ns, enter_ns + 4'000 + i % 512, {function, 0, kGrid, kBlock});
        if (i % 4'000 == 3'999) trace.write(events);
    }
    const int64_t bytes = std::stol(trace.ask("SELECT sum(pgsize) FROM dbstat WHERE name = 'launch'"));
    CHECK(bytes / kLaunches <= 30);
    CHECK(bytes / kLaunches >= 15);
}

}  // namespace store_test
