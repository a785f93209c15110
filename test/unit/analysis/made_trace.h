// Traces of one process that are drawn by hand: rows in a database in memory.
#pragma once

#include <stdexcept>
#include <string>

#include "analysis/busy/busy.h"
#include "shim/sqlite/schema.h"

namespace made {

using namespace gpushim::analysis;

constexpr int64_t kEventNs = 2500, kRecordNs = 1500, kLatencyNs = 4000;

// A trace of one thread, one device and `streams` streams. Level error 1 is exact with two events, 2 is ±1 us
// and has none.
class Made {
  public:
    explicit Made(int streams = 1) {
        inputs_.traces.push_back({"made.db", Database::in_memory(), 1, {}, {}, "", "", "", 0, ""});
        for (const char* part : gpushim_schema) run(part);
        run("INSERT INTO meta VALUES ('started_mono_ns', 0)");
        run("INSERT INTO device (id, uuid, name, memory_bytes) VALUES (0, 'GPU-0', 'Made', 1)");
        run("INSERT INTO handle VALUES (1, 'context', 1, 0, NULL, NULL, 0, NULL)");
        run("INSERT INTO context VALUES (1, 1, 0)");
        run("INSERT INTO api VALUES (1, 'cuCtxSynchronize', 'cuCtxSynchronize', 'sync')");
        for (int i = 1; i <= streams; ++i)
            run("INSERT INTO stream VALUES (" + std::to_string(i) + ", NULL, 1, 'made', NULL, 1, 0)");
        run("INSERT INTO level_error VALUES (1, 'events', 1, 0, 0, 0, 0, 0, 2),"
            " (2, 'events', 0, 1000, 1000, 1000, 1000, 500, 0), (3, 'events', 1, 0, 0, 0, 0, 0, 0)");
    }
    void run(const std::string& sql) { inputs_.traces[0].base.run(sql); }
    void launch(int64_t enter_ns, int64_t exit_ns, int stream = 1) {
        row("launch", {enter_ns, exit_ns - enter_ns, 1, stream, 1, kNull, 0});
    }
    void timed(int64_t enter_ns, int64_t exit_ns, int64_t start_ns, int64_t end_ns, int error,
               int stream = 1) {
        launch(enter_ns, exit_ns, stream);
        row("launch_device", {enter_ns, start_ns - enter_ns, end_ns - start_ns, error});
    }
    void sync(int64_t enter_ns, int64_t exit_ns) {
        row("sync", {enter_ns, exit_ns - enter_ns, 1, 1, 1, kNull, 1, kNull, 0});
    }
    void window(int64_t from_ns, int64_t until_ns, int64_t operations, int64_t timed, int64_t own_ns = 0) {
        row("\"window\"",
            {from_ns, 0, until_ns - from_ns, 1, until_ns - from_ns, operations, timed, 0, own_ns});
    }
    // Rows from then until then are gone …
    void gone(int64_t from_ns, int64_t until_ns) { row("summarised", {from_ns, until_ns, 0, 0, 0}); }
    // … and the totals say that this stream was given a launch in that second; 0: they do not say which.
    void total(int64_t second, int stream) {
        const std::string id = std::to_string(stream + 1);
        run("INSERT OR IGNORE INTO series (id, kind, flags, stream_id) VALUES (" + id + ", 'launch', 0, " +
            (stream == 0 ? "NULL" : std::to_string(stream)) + ")");
        run("INSERT INTO rollup (second, series_id, seconds, events, calls) VALUES (" +
            std::to_string(second) + ", " + id + ", 1, 1, 1)");
    }
    void still_written(int64_t until_ns) { inputs_.traces[0].until_ns = until_ns; }
    void clock() {
        row("device_clock", {0, 1, 0, 100, kNull, kNull, kEventNs, kRecordNs, kLatencyNs, 0, 0, 0, 0, 1});
    }
    void ends(int64_t ns) { row("clock", {ns, ns, ns}); }
    DeviceBusy busy() const {
        const auto all = busy_of(inputs_.traces[0]);
        return all.size() == 1 ? all[0] : throw std::logic_error("not one device");
    }
    const Inputs& inputs() const { return inputs_; }

  private:
    static constexpr int64_t kNull = INT64_MIN;
    void row(const std::string& table, std::initializer_list<int64_t> values) {
        std::string sql;
        for (const int64_t value : values)
            sql += (sql.empty() ? "" : ", ") + (value == kNull ? "NULL" : std::to_string(value));
        run("INSERT INTO " + table + " VALUES (" + sql + ")");
    }
    Inputs inputs_;
};

inline void mark_step(Made& made, int64_t at_ns) {
    made.run("INSERT INTO marker VALUES (" + std::to_string(at_ns) +
             ", 1, 'step', NULL, 8, NULL, NULL, NULL, NULL, 0)");
}

// Steps of 100 us with one kernel each, marked, the second to fourth timed.
//
//  us      0      100     200     300     400     500
//  marks   |       |       |       |       |       |
//  kernel   K       K       K       K       K
//  window       |──────────────────────────|
inline Made marked_steps() {
    Made made;
    made.run("INSERT INTO name VALUES (9, 'layer', NULL)");
    made.run("INSERT INTO handle VALUES (9, 'function', 9, 0, NULL, NULL, NULL, 9)");
    made.run("INSERT INTO shape VALUES (1, 9, 1, 2, 3, 4, 32, 1, 1, 0, NULL, NULL, NULL, NULL)");
    for (int64_t i = 0; i <= 5; ++i) mark_step(made, i * 100 * 1000);
    for (int64_t i = 0; i < 5; ++i) {
        const int64_t enter_ns = (100 * i + 10) * 1000;
        made.timed(enter_ns, enter_ns + 4 * 1000, enter_ns + 8 * 1000, enter_ns + 50 * 1000, 3);
    }
    made.window(50 * 1000, 405 * 1000, 4, 4);
    made.ends(600 * 1000);
    return made;
}

}  // namespace made
