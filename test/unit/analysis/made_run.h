// Run databases that are made by hand: two GPUs whose figures agree with each other, and others like them.
//
//   a step, GPU 0   | h2d 3.21 | idle 6.80 | compute 8.536 | wait 1.20 | AllReduce 0.254 |   20 ms
//           GPU 1   | h2d 3.21 | idle 6.80 |     compute 9.736        | AllReduce 0.254 |
#pragma once

#include <sqlite3.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "analysis/process/temporary.h"
#include "analysis/report/printed.h"
#include "analysis/run/sql/run_db.h"
#include "known_row.h"

namespace made {

using namespace gpushim::analysis;

constexpr int64_t kSteps = 400, kWarmUp = 20, kTimed = 57, kStepNs = 20'000'000;
constexpr const char* kGemm = "ampere_sgemm_128x64_tn";

struct RunShape {
    int ranks = 2;
    bool steps = true;         // false: slices of the run
    bool device_times = true;  // false: host times only
    bool collectives = true;
    bool whole_steps = true;  // false: what is timed is in no whole step
    int64_t all_steps = kSteps, timed_steps = kTimed;
    int64_t timed_phases = kTimed;  // of the timed steps, those of which each phase was timed
};

class MadeRun {
  public:
    explicit MadeRun(const RunShape& shape = {}) : shape_(shape) {
        RunDb run(place());
        add_run(run);
        for (int64_t rank = 0; rank < shape_.ranks; ++rank) add_rank(run, rank);
        if (shape_.collectives) add_collectives(run);
        run.finish();
    }
    std::filesystem::path place() const { return folder_.path() / "made.run.db"; }
    Database open() const { return Database(place()); }
    void change(const std::string& sql) const {
        INFO(sql);
        sqlite3* base = nullptr;
        REQUIRE(sqlite3_open(place().c_str(), &base) == SQLITE_OK);
        CHECK(sqlite3_exec(base, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
        sqlite3_close(base);
    }

  private:
    static Value text(const char* words) { return std::string(words); }
    static Value number(int64_t value) { return value; }
    Value timed(int64_t value) const { return shape_.device_times ? Value(value) : Value(nullptr); }
    Value timed(double value) const { return shape_.device_times ? Value(value) : Value(nullptr); }

    // Every 18th step takes 1.3 ms longer and the one behind it so much less.
    static int64_t length_of(int64_t step) {
        return kStepNs + (step % 18 == 3 ? 1'300'000 : step % 18 == 4 ? -1'300'000 : 0);
    }

    void add_run(RunDb& run) {
        run.add("run", {text("traces"), number(shape_.ranks)});
        run.add("run", {text("unknown_abi"), number(0)});
        run.add("run", {text("tag"), text("data=real")});
    }

    void add_rank(RunDb& run, int64_t rank) {
        run.add("rank", {rank,
                         rank,
                         number(shape_.ranks),
                         text("secret-host"),
                         4711 + rank,
                         text("secret_train.py"),
                         "uuid-" + std::to_string(rank),
                         text("secret.db"),
                         number(1'700'000'000'000'000'000),
                         number(0),
                         number(8'000'000'000),
                         number(166'906),
                         number(166'906),
                         number(0),
                         number(0),
                         number(0),
                         number(0),
                         text(shape_.device_times ? "events" : "host"),
                         timed(int64_t{800}),
                         0.004,
                         0.01,
                         0.02,
                         text(shape_.steps ? "detected" : "none"),
                         shape_.steps ? text("sgd_step") : Value(nullptr),
                         shape_.steps ? Value(0.99) : Value(nullptr),
                         shape_.steps ? Value(nullptr) : text("nothing recurs"),
                         number(1),
                         number(0),
                         Value(nullptr),
                         shape_.steps ? number(0) : Value(nullptr),
                         number(0)});
        add_gpu(run, rank);
        const int64_t steps = shape_.steps ? shape_.all_steps : 80;
        for (int64_t step = 0, begin_ns = 0; step < steps; ++step) {
            const int64_t dur_ns = shape_.steps ? length_of(step) : 100'000'000;
            const bool warm_up = shape_.steps && step < kWarmUp / 2;
            const bool left_out = shape_.steps && !warm_up && step < kWarmUp;
            run.add("step", {rank, step, step + 1, begin_ns, dur_ns, number(1), nullptr, number(warm_up),
                             number(left_out), nullptr, number(0)});
            begin_ns += dur_ns;
        }
        if (shape_.device_times) add_timed_steps(run, rank);
        if (shape_.steps) add_phases(run, rank);
        add_work(run, rank);
    }

    void add_gpu(RunDb& run, int64_t rank) {
        run.add("gpu", {rank,
                        rank,
                        number(0),
                        "GPU-" + std::to_string(rank),
                        text("Simulated GPU"),
                        number(1),
                        number(16'000'000'000),
                        number(900'000'000),
                        number(8'000'000'000),
                        timed(0.62),
                        shape_.device_times ? 0.60 : 0.0,
                        shape_.device_times ? 0.63 : 0.792,
                        timed(0.61),
                        timed(0.625),
                        timed(0.61),
                        timed(0.60),
                        timed(0.62),
                        text(shape_.device_times ? "events" : "host"),
                        timed(1.0),
                        shape_.device_times ? 0.1425 : 0.0,
                        number(shape_.device_times ? 4 : 0),
                        shape_.device_times ? Value(nullptr) : text("device times are not recorded"),
                        timed(int64_t{8000}),
                        timed(int64_t{8900}),
                        timed(int64_t{1500}),
                        timed(int64_t{1}),
                        Value(nullptr),
                        timed(0.0),
                        timed(0.0),
                        Value(nullptr)});
    }

    // A step of this GPU in the rows of what ran; `scale` steps in one row where they are in no whole step.
    void add_timed(RunDb& run, int64_t gpu, int64_t step, int64_t scale) {
        const bool waits = shape_.collectives && gpu != 1;
        const int64_t comm_ns = shape_.collectives ? 254'000 : 0;
        const int64_t idle_ns = 6'800'000, wait_ns = waits ? 1'200'000 : 0, h2d_ns = 3'210'000;
        const int64_t busy_ns = kStepNs - idle_ns;
        const auto activity = [&](int64_t classes, int64_t ns) {
            if (ns != 0) run.add("activity", {gpu, step, classes, ns * scale});
        };
        activity(0, idle_ns);
        activity(1, busy_ns - wait_ns - comm_ns - h2d_ns);
        activity(2, comm_ns);
        activity(4, wait_ns);
        activity(8, h2d_ns);
        run.add("gpu_step",
                {gpu, step, kStepNs * scale, (busy_ns - 120'000) * scale, (busy_ns + 120'000) * scale,
                 (busy_ns - 60'000) * scale, (busy_ns + 60'000) * scale, 415 * scale, 415 * scale,
                 number(1000), number(1'690'000), number(300'000), kStepNs - wait_ns});
        const auto gap = [&](const char* cause, int64_t ns, int64_t drained_ns) {
            run.add("gap",
                    {gpu, step, text(cause), text(""), ns * scale, scale, ns, number(0), drained_ns * scale});
        };
        gap("input_cpu", 4'800'000, 0);
        gap("launch_bound", 900'000, 0);
        gap("launch_latency", 300'000, 0);
        gap("sync", 600'000, 600'000);
        gap("host_cpu", 200'000, 0);
    }

    void add_timed_steps(RunDb& run, int64_t gpu) {
        if (!shape_.whole_steps) return add_timed(run, gpu, -1, shape_.timed_steps);
        for (int64_t i = 0; i < shape_.timed_steps; ++i) add_timed(run, gpu, kWarmUp + i, 1);
        run.add("activity", {gpu, number(-1), number(0), number(5'000'000)});  // at the windows' edges
        run.add("gpu_step", {gpu, number(-1), number(5'000'000), number(0), number(0), number(0), number(0),
                             number(0), number(0), nullptr, number(0), number(0), number(0)});
        run.add("gap", {gpu, number(-1), text("tail"), text(""), number(5'000'000), number(1),
                        number(5'000'000), number(0), number(0)});
    }

    void add_phases(RunDb& run, int64_t rank) {
        for (int64_t i = 0; i < shape_.timed_steps; ++i) {
            const auto if_timed = [&](int64_t ns) {
                return i < shape_.timed_phases ? Value(ns) : Value(nullptr);
            };
            run.add("phase",
                    {rank, kWarmUp + i, text("input"), number(0), number(4'800'000), 0.8, number(4'800'000)});
            run.add("phase", {rank, kWarmUp + i, text("forward"), number(1), number(6'000'000), 0.8,
                              if_timed(5'000'000 + 500'000 * i)});
        }
    }

    void add_work(RunDb& run, int64_t gpu) {
        const int64_t timed_launches = shape_.device_times ? 412 * shape_.timed_steps : 0;
        run.add("stream_stat",
                {gpu, number(7), text("7"), text("compute"), 412 * shape_.all_steps, shape_.all_steps,
                 number(0), number(0), number(0), 4 * shape_.all_steps, timed(8'536'000 * shape_.timed_steps),
                 number(0), number(0), number(0), number(0), number(0), number(0), nullptr, nullptr});
        run.add("stream_stat",
                {gpu, number(14), text("14"), text("h2d"), number(0), shape_.all_steps + 1, number(0),
                 number(0), number(0), 19'300'000 * shape_.all_steps, timed(3'210'000 * shape_.timed_steps),
                 number(0), number(0), number(0), number(0), number(0), number(0), nullptr, nullptr});
        run.add("launch_stat",
                {gpu, number(7), 412 * shape_.all_steps, 412 * shape_.all_steps * 4100, timed_launches,
                 timed(int64_t{1000}), timed(timed_launches - 1000), timed(int64_t{0}),
                 timed(184 * shape_.timed_steps), timed(int64_t{400'000}), number(0), number(4100),
                 timed(int64_t{8000}), timed(int64_t{8900}), timed(int64_t{1500}), timed(int64_t{2}),
                 timed(int64_t{9}), timed(int64_t{21'000}), nullptr});
        add_copies(run, gpu);
        add_kernels(run, gpu);
    }

    void add_copies(RunDb& run, int64_t gpu) {
        const int64_t timed_steps = shape_.device_times ? shape_.timed_steps : 0;
        const auto copy = [&](int64_t stream, const char* kind, const char* from, const char* to,
                              int64_t blocking, int64_t position, int64_t bytes, int64_t count, int64_t times,
                              int64_t ns) {
            run.add("copy_stat",
                    {gpu,
                     stream,
                     text(kind),
                     text(from),
                     text(to),
                     blocking,
                     position,
                     bytes,
                     count,
                     bytes * count,
                     count * 4000,
                     count,
                     times,
                     ns * times,
                     bytes * times,
                     times != 0 ? Value(static_cast<double>(bytes) * 1e9 / static_cast<double>(ns))
                                : Value(nullptr),
                     ns * times,
                     nullptr,
                     nullptr,
                     nullptr,
                     nullptr});
        };
        copy(14, "h2d", "pageable", "device", 1, 0, 19'300'000, shape_.all_steps, timed_steps, 3'210'000);
        copy(14, "h2d", "pinned", "device", 0, -1, 4'000'000, 1, timed_steps != 0, 160'000);
        copy(7, "d2h", "device", "pageable", 1, 0, 4, shape_.all_steps, timed_steps, 2000);
        run.add("transfer_pattern", {gpu, text("small_d2h_sync"), shape_.all_steps, 4 * shape_.all_steps,
                                     number(2000), shape_.all_steps, nullptr});
        run.add("sync_stat",
                {gpu, text("cuStreamSynchronize"), text("stream"), shape_.all_steps, number(240'000'000),
                 number(900'000), shape_.all_steps, shape_.all_steps, shape_.all_steps});
    }

    void add_kernels(RunDb& run, int64_t gpu) {
        const auto kernel = [&](const char* name, int64_t launches, int64_t share, const char* family,
                                bool eligible, const char* tensor, bool small_grid) {
            const int64_t ns = share * 1'000'000;
            const Value small = shape_.device_times ? Value(small_grid ? launches : 0) : Value(nullptr);
            add_known(run.raw(), "kernel",
                      {{"gpu_id", gpu},
                       {"name", text(name)},
                       {"launches", launches},
                       {"graph_launches", number(0)},
                       {"timed", number(shape_.device_times ? launches : 0)},
                       {"sum_ns", timed(ns)},
                       {"union_ns", timed(ns)},
                       {"min_ns", timed(int64_t{1})},
                       {"max_ns", timed(int64_t{1})},
                       {"small", number(0)},
                       {"small_grid", small},
                       {"small_grid_ns", timed(small_grid ? ns : 0)},
                       {"overlapped", number(0)},
                       {"overlapped_ns", number(0)},
                       {"alone", number(0)},
                       {"alone_ns", number(0)},
                       {"family", text(family)},
                       {"precision", text("fp32")},
                       {"tensor_core", text(tensor)},
                       {"eligible", number(eligible)}});
        };
        kernel(kGemm, 100 * shape_.all_steps, 67, "gemm", true, "no", false);
        kernel("secret_gemm", 6 * shape_.all_steps, 4, "gemm", true, "unknown", false);
        kernel("secret_add", 306 * shape_.all_steps, 29, "elementwise", false, "no", true);
    }

    void add_collectives(RunDb& run) {
        run.add("collective_stat", {text("c0ffee"),
                                    text("allreduce"),
                                    text("float32"),
                                    number(23'379'024),
                                    number(shape_.ranks),
                                    2 * shape_.all_steps,
                                    2 * shape_.timed_steps,
                                    timed(2 * shape_.timed_steps),
                                    timed(2 * shape_.timed_steps),
                                    number(23'379'024),
                                    timed(int64_t{127'000} * 2 * shape_.timed_steps),
                                    timed(int64_t{600'000} * 2 * shape_.timed_steps),
                                    nullptr,
                                    timed(int64_t{127'000}),
                                    timed(int64_t{600'000}),
                                    timed(int64_t{600'000}),
                                    text("shortest"),
                                    timed(184.0e9),
                                    timed(184.0e9),
                                    timed(32.0e9),
                                    number(116'895),
                                    number(116'895),
                                    number(116'895),
                                    text("ring"),
                                    200.0e9,
                                    text("measured"),
                                    timed(0.92),
                                    text("bandwidth"),
                                    number(1),
                                    nullptr,
                                    nullptr,
                                    nullptr,
                                    nullptr,
                                    nullptr});
        run.add("allreduce_check", {number(11'689'512), 11'689'512.0, number(0), 46'758'048.0, 2.0, 1.0,
                                    text("once"), number(233'790), timed(int64_t{254'000}), 0.0, nullptr});
        if (!shape_.device_times) return;
        run.add("skew",
                {text("c0ffee"), shape_.timed_steps, 1'200'000 * shape_.timed_steps, number(1'200'000),
                 number(800), 0.01, number(1), number(1'200'000), 1e-17, text("compute"), 0.97, nullptr,
                 number(1'190'000), number(1'210'000), nullptr, nullptr, nullptr, nullptr});
        for (int64_t rank = 0; rank < shape_.ranks; ++rank)
            run.add("skew_rank",
                    {text("c0ffee"), rank, rank, rank == 1 ? 1'200'000 * shape_.timed_steps : number(0),
                     rank == 1 ? shape_.timed_steps : number(0), nullptr, number(0), number(0), number(0)});
        for (int64_t i = 0; i < shape_.timed_steps; ++i)
            run.add("across", {kWarmUp + i, number(shape_.ranks), number(30'000), number(0), text("0,1"),
                               0.05, 0.04, 0.02});
    }

    RunShape shape_;
    TemporaryFolder folder_;
};

inline std::string text_of(const Report& report) {
    std::string text;
    for (const std::string& line : as_text(report)) text += line + "\n";
    return text;
}

// A question to the report's JSON, in SQLite's words for it; ?1 is the JSON.
inline std::string asked(const Report& report, const std::string& sql) {
    const Database base = Database::in_memory();
    Query query = base.prepare(sql);
    query.bind(1, report.json.text());
    return query.step() ? query.text(0) : "";
}
inline std::string value(const Report& report, const std::string& path) {
    return asked(report, "SELECT json_extract(?1, '$." + path + "')");
}
// Keys that are null in an object that does not say why of them.
inline std::string unexplained(const Report& report) {
    return asked(
        report,
        "SELECT group_concat(n.fullkey, ' ') FROM json_tree(?1) n WHERE n.type = 'null' AND NOT EXISTS"
        " (SELECT 1 FROM json_tree(?1) w WHERE w.parent = n.parent"
        "  AND w.key IN ('why', n.key || '_why') AND w.type = 'text' AND w.value <> '')");
}

}  // namespace made
