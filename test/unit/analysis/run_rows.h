// Run databases in memory, row by row with the names of the columns, so that a column more in a table breaks
// nothing. What is not named is NULL. Steps are told by what ran and why nothing ran:
//
//   RunRows run;
//   run.rank(0).rank(1);
//   run.steps(0, {.ran = {{kCompute, 8 * kMs}, {kTransfer, 2 * kMs}}, .idle = {{"launch_call", kMs}}});
//
// A rank has one GPU of its own number, or several: gpu(id, rank_id). One thread.
#pragma once

#include <initializer_list>
#include <map>
#include <string>

#include "analysis/advice/advise.h"
#include "analysis/run/sql/run_db.h"
#include "known_row.h"

namespace made {

using namespace gpushim::analysis;

constexpr int64_t kMs = 1'000'000, kUs = 1000;
// Bits of activity.classes.
constexpr int64_t kCompute = 1, kTransfer = 2, kWaiting = 4, kH2d = 8, kD2h = 16, kP2p = 64, kMemset = 128;

// What a GPU did in a step: ns by what ran at the same time, and by the cause of idle time.
struct StepOf {
    std::map<int64_t, int64_t> ran = {};
    std::map<std::string, int64_t> idle = {};
    int64_t pieces = 1;  // gaps of each cause

    int64_t window_ns() const {
        int64_t sum_ns = idle_ns();
        for (const auto& [classes, ns] : ran) sum_ns += ns;
        return sum_ns;
    }
    int64_t idle_ns() const {
        int64_t sum_ns = 0;
        for (const auto& [cause, ns] : idle) sum_ns += ns;
        return sum_ns;
    }
    int64_t waiting_ns() const { return ran.contains(kWaiting) ? ran.at(kWaiting) : 0; }
};

class RunRows {
  public:
    static constexpr int64_t kSteps = 20;

    RunRows() {
        for (const char* folder : {"tables/", "views/"})
            for (size_t i = 0; i < kRunSqlFiles; ++i)
                if (std::string_view(kRunSql[i].name).starts_with(folder)) base_.run(kRunSql[i].text);
        // What a run has when it is derived, of whatever rows come.
        for (const std::string kept : {"step_sum", "collective_sum"})
            base_.run("DROP TABLE " + kept + "; CREATE VIEW " + kept + " AS SELECT * FROM v_" + kept);
    }

    RunRows& add(const char* table, Cells cells) {
        add_known(raw(), table, cells);
        return *this;
    }

    // A rank with steps of its own, and one GPU.
    RunRows& rank(int64_t id, const char* steps_source = "gpushim_step") {
        process(id, steps_source);
        return gpu(id, id);
    }
    RunRows& process(int64_t id, const char* steps_source = "gpushim_step") {
        return add("rank", {{"rank_id", id},
                            {"rank", id},
                            {"pid", int64_t{100} + id},
                            {"level", "events"},
                            {"clock_error_ns", 500},
                            {"own_cost_share", 0.005},
                            {"budget", 0.01},
                            {"recorded", 1000},
                            {"dropped", 0},
                            {"steps_source", steps_source}});
    }
    RunRows& gpu(int64_t id, int64_t rank_id) {
        return add("gpu", {{"gpu_id", id},
                           {"rank_id", rank_id},
                           {"device_id", id},
                           {"uuid", "GPU-" + std::to_string(id)},
                           {"name", "Simulated GPU"},
                           {"memory_total_bytes", int64_t{16} << 30},
                           {"memory_peak_bytes", int64_t{4} << 30},
                           {"run_ns", 1000 * kMs},
                           {"busy_share", 0.9},
                           {"level", "events"},
                           {"coverage", 1.0},
                           {"timed_share", 0.5},
                           {"windows", 20},
                           {"latency_ns", 8 * kUs},
                           {"kernel_gap_ns", 1500}});
    }

    // All its steps are like this one.
    RunRows& steps(int64_t gpu_id, const StepOf& like, int64_t count = kSteps) {
        for (int64_t step = 0; step < count; ++step) this->step(gpu_id, step, like);
        return *this;
    }
    RunRows& step(int64_t gpu_id, int64_t step, const StepOf& is) {
        const int64_t window_ns = is.window_ns(), idle_ns = is.idle_ns();
        ask("INSERT OR IGNORE INTO step (rank_id, step, number, begin_ns, dur_ns, warm_up, left_out)"
            " SELECT rank_id, ?2, ?2, ?2 * ?3, ?3, 0, 0 FROM gpu WHERE gpu_id = ?1",
            {gpu_id, step, window_ns})
            .step();
        add("gpu_step", {{"gpu_id", gpu_id},
                         {"step", step},
                         {"window_ns", window_ns},
                         {"busy_low_ns", window_ns - idle_ns},
                         {"busy_high_ns", window_ns - idle_ns},
                         {"busy_likely_low_ns", window_ns - idle_ns},
                         {"busy_likely_high_ns", window_ns - idle_ns},
                         {"operations", 100},
                         {"timed", 100},
                         {"first_launch_ns", 0},
                         {"own_work_ns", window_ns - is.waiting_ns()}});
        const auto ran = [&](int64_t classes, int64_t ns) {
            if (ns > 0)
                add("activity", {{"gpu_id", gpu_id}, {"step", step}, {"classes", classes}, {"ns", ns}});
        };
        ran(0, idle_ns);
        for (const auto& [classes, ns] : is.ran) ran(classes, ns);
        for (const auto& [cause, ns] : is.idle)
            add("gap", {{"gpu_id", gpu_id},
                        {"step", step},
                        {"cause", cause},
                        {"blocked_on", ""},
                        {"ns", ns},
                        {"pieces", is.pieces},
                        {"longest_ns", ns / is.pieces},
                        {"drained_by_sync_ns", 0}});
        return *this;
    }

    RunRows& change(const std::string& sql) {
        base_.run(sql);
        return *this;
    }
    // Metrics and what else follows from the rows: when all of them are there.
    RunRows& derive() {
        for (size_t i = 0; i < kRunSqlFiles; ++i)
            if (std::string_view(kRunSql[i].name).starts_with("derive/")) base_.run(kRunSql[i].text);
        return *this;
    }

    Query ask(const std::string& sql, std::initializer_list<Value> values = {}) const {
        Query query = base_.prepare(sql);
        int parameter = 0;
        for (const Value& value : values) query.bind(++parameter, value);
        return query;
    }
    sqlite3* raw() const { return base_.raw(); }

    // What that rule says of it, worth saying or not.
    std::optional<Finding> look(std::string_view id, const Given& given = {}) const {
        for (const Rule* rule : all_rules())
            if (rule->id == id) return rule->look(Situation(raw(), given));
        throw std::invalid_argument("no rule " + std::string(id));
    }
    // What is said: ids in their order.
    std::string said(const Given& given = {}) const {
        std::string ids;
        for (const Advice& one : advise(Situation(raw(), given)))
            ids += (ids.empty() ? "" : " ") + std::string(one.rule->id);
        return ids;
    }
    bool says(const std::string& id, const Given& given = {}) const {
        return (" " + said(given) + " ").find(" " + id + " ") != std::string::npos;
    }

  private:
    Database base_ = Database::in_memory();
};

// A rule comes on by the time a step has 5 % to recover, and is off below 2 %; `at` makes the run with so
// large a share of its step to recover.
template <class At>
bool is_ramped(const std::string& id, At at, const Given& given = {}) {
    return !at(0.0).says(id, given) && !at(0.0199).says(id, given) && at(0.05).says(id, given) &&
           at(0.10).says(id, given) && at(0.30).says(id, given);
}

}  // namespace made
