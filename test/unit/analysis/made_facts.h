// What is known of a trace that is drawn by hand, a part that is given its calls, and what it wrote.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <memory>

#include "analysis/run/pass/facts.h"
#include "analysis/run/pass/part.h"
#include "analysis/run/sql/run_db.h"
#include "calls.h"
#include "shim/sqlite/schema.h"

namespace made {

constexpr int64_t kRank = 7, kGpu = 20;  // rank.rank_id; gpu.gpu_id of the first
constexpr int64_t kLatency = 8000;       // of a launch on an empty queue
constexpr int64_t kMultiprocessors = 132;
constexpr int64_t kHour = 3'600'000'000'000;

// A piece in which all of these GPUs is known.
inline TimedPiece piece(size_t gpus, int64_t from_ns = 0, int64_t until_ns = kHour) {
    return {{from_ns, until_ns},
            std::vector<Interval>(gpus, {from_ns, until_ns}),
            {},
            std::vector<double>(gpus, 1.0),
            {}};
}

// A trace of one thread in memory; streams n + 1 are on device n / streams.
class MadeTrace {
  public:
    MadeTrace(int gpus, int streams) {
        for (const char* part : gpushim_schema) run(part);
        run("INSERT INTO meta VALUES ('started_mono_ns', 0)");
        for (int i = 0; i < gpus; ++i) {
            const std::string gpu = std::to_string(i), id = std::to_string(i + 1);
            run("INSERT INTO device VALUES (" + gpu + ", 'GPU-" + gpu + "', 'Made', 1, '', 132, '9.0')");
            run("INSERT INTO handle VALUES (" + id + ", 'context', 1, 0, NULL, NULL, " + gpu + ", NULL)");
            run("INSERT INTO context VALUES (" + id + ", " + id + ", " + gpu + ")");
        }
        for (int i = 0; i < gpus * streams; ++i)
            run("INSERT INTO stream VALUES (" + std::to_string(i + 1) + ", NULL, " +
                std::to_string(i / streams + 1) + ", 'made', NULL, 1, 0)");
    }
    void run(const std::string& sql) { trace_.base.run(sql); }
    const Trace& trace() const { return trace_; }

  private:
    Trace trace_{"made.db", Database::in_memory(), 1, {}, {}, "", "", "", 0, ""};
};

// GPUs with so many streams each: lane n is stream n + 1 of the trace, on GPU n / streams.
struct MadeFacts {
    MadeTrace made;
    TraceFacts facts{};

    explicit MadeFacts(int gpus = 1, int streams = 2) : made(gpus, streams) {
        facts.trace = &made.trace();
        facts.rank_id = kRank;
        for (int gpu = 0; gpu < gpus; ++gpu)
            facts.gpus.push_back({kGpu + gpu,
                                  gpu,
                                  "GPU-" + std::to_string(gpu),
                                  "Made",
                                  false,
                                  {kLatency, 2 * kLatency, 3000},
                                  kMultiprocessors});
        for (int lane = 0; lane < gpus * streams; ++lane) {
            facts.lanes.push_back({lane + 1, lane / streams, lane / streams + 1, 900, false, false});
            facts.streams.push_back("0x" + std::to_string(lane + 1));
            facts.gpu_of_lane.push_back(lane / streams);
        }
    }
    // A kernel and a shape of it with the same number, from 0.
    int64_t kernel(const std::string& name, int64_t blocks = 1) {
        const auto index = static_cast<int32_t>(facts.kernels.size());
        facts.kernels.push_back({name, classify(name)});
        facts.shapes[index] = {index, blocks, 32};
        return index;
    }
    void step(int64_t begin_ns, int64_t end_ns, bool is_warm_up = false) {
        Step step{};
        step.begin_ns = begin_ns;
        step.end_ns = end_ns;
        step.number = static_cast<int64_t>(facts.steps.size()) + 1;
        step.is_warm_up = is_warm_up;
        facts.steps.push_back(step);
    }
    // Totals of the whole run: a series (columns and their values), and what it comes to.
    void total(const std::string& columns, const std::string& values, int64_t events, int64_t sum_ns = 0,
               int64_t bytes = 0, int flags = 0) {
        const std::string id = std::to_string(++series_);
        made.run("INSERT INTO series (id, flags, " + columns + ") VALUES (" + id + ", " +
                 std::to_string(flags) + ", " + values + ")");
        made.run("INSERT INTO rollup VALUES (0, " + id + ", 1, " + std::to_string(events) + ", " +
                 std::to_string(events) + ", " + std::to_string(sum_ns) + ", 1, " + std::to_string(sum_ns) +
                 ", " + std::to_string(bytes) + ", NULL)");
    }
    // A piece of the whole run, in which all of its GPUs and steps are known.
    TimedPiece whole() const {
        TimedPiece whole = piece(facts.gpus.size());
        if (facts.are_slices) return whole;
        for (size_t i = 0; i < facts.steps.size(); ++i)
            whole.steps.push_back(
                {static_cast<int32_t>(i), {facts.steps[i].begin_ns, facts.steps[i].end_ns}});
        return whole;
    }

  private:
    int series_ = 100;
};

inline Call of_kind(Call call, OperationClass type, int64_t bytes = kNotRecorded,
                    int64_t detail = kNotRecorded) {
    call.type = type;
    call.bytes = bytes;
    call.detail = detail;
    return call;
}
inline Call kernel(Call call, int64_t shape) { return of_kind(call, OperationClass::compute, -1, shape); }
inline Call in_step(Call call, int32_t step) {
    call.step = step;
    return call;
}

inline void give(Part& part, const TimedPiece& piece, const std::vector<Call>& before,
                 const std::vector<Call>& calls) {
    part.begin(piece);
    for (const Call& call : before) part.take(call, true);
    for (const Call& call : calls) part.take(call, false);
    part.end();
}

// The rows that were written, asked by SQL.
class Written {
  public:
    Written()
        : folder_(std::filesystem::temp_directory_path() /
                  ("made." + std::to_string(getpid()) + "." + std::to_string(++made_))) {
        std::filesystem::create_directories(folder_);
        run_ = std::make_unique<RunDb>(folder_ / "run.db");
    }
    ~Written() {
        run_.reset();
        std::filesystem::remove_all(folder_);
    }
    RunDb& run() { return *run_; }
    void insert(const std::string& sql) { ask(sql); }
    void finish() {
        run_->finish();
        run_.reset();
        done_ = std::make_unique<Database>(folder_ / "run.db");
    }
    // The first row as text, columns with a space between; NULL: `-`.
    std::string ask(const std::string& sql) const {
        Query query(done_ ? done_->raw() : run_->raw(), "made", sql);
        std::string row;
        if (!query.step()) return "no row";
        for (int i = 0; i < query.columns(); ++i)
            row += (i == 0 ? "" : " ") + (query.is_null(i) ? "-" : query.text(i));
        return row;
    }

  private:
    static inline int made_ = 0;
    std::filesystem::path folder_;
    std::unique_ptr<RunDb> run_;
    std::unique_ptr<Database> done_;
};

// As it is done with a fully timed trace: everything is seen, then taken in one piece.
inline void all_of(std::unique_ptr<Part> part, const MadeFacts& made, const std::vector<Call>& calls,
                   Written& written) {
    for (const Call& call : calls) part->see(call);
    give(*part, made.whole(), {}, calls);
    part->finish(written.run());
}

}  // namespace made
