// Traces of several ranks that are drawn by hand: a process each, with one GPU, stream 1 for compute and
// stream 2 for NCCL, and what is known of it before its calls are gone through.
#pragma once

#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "analysis/process/temporary.h"
#include "analysis/run/collectives/collectives.h"
#include "analysis/run/ranks/rank_rows.h"
#include "analysis/run/sql/run_db.h"
#include "shim/sqlite/schema.h"

namespace made {

using namespace gpushim::analysis;

constexpr int kAllReduceShape = 1, kGemmShape = 2, kCustomShape = 3, kTreeShape = 4;
constexpr int kFloat32 = 7, kFloat16 = 6;

struct NcclCall {
    std::string api = "ncclAllReduce";
    int64_t seq = 1, bytes = 4096;
    int peer = -1, dtype = kFloat32, flags = 0;
    int64_t group = -1;        // -1: its own
    int64_t communicator = 1;  // row
    int stream = 2;
    int shape = kAllReduceShape;
    bool kernel = true;  // it launched one
};

class Rank {
  public:
    Rank(int64_t rank_id, const std::string& host)
        : trace{"rank" + std::to_string(rank_id) + ".db",
                Database::in_memory(),
                rank_id,
                rank_id,
                {},
                "",
                host,
                "",
                0,
                ""} {
        for (const char* part : gpushim_schema) run(part);
        run("INSERT INTO meta VALUES ('boot_id', '" + host + "')");
        run("INSERT INTO device (id, uuid, name, memory_bytes) VALUES (0, '" + uuid(rank_id) +
            "', 'Made', 1)");
        run("INSERT INTO context VALUES (1, 1, 0)");
        run("INSERT INTO stream VALUES (1, NULL, 1, 'made', NULL, 1, 0), (2, NULL, 1, 'made', NULL, 1, 0)");
        run("INSERT INTO handle VALUES (50, 'communicator', 1, 0, NULL, NULL, 0, NULL)");
        run("INSERT INTO level_error VALUES (1, 'events', 1, 0, 0, 0, 0, 0, 2)");
        facts.trace = &trace;
        facts.rank_id = rank_id;
        facts.gpus = {{10 + rank_id, 0, uuid(rank_id), "Made", false, {}}};
        facts.lanes = {{1, 0, 1, 1, false, false}, {2, 0, 1, 1, false, false}};
        for (const char* name : {"ncclDevKernel_AllReduce_Sum_f32_RING_LL", "ampere_sgemm_128x64_nn",
                                 "cross_device_reduce_1stage", "ncclDevKernel_AllReduce_Sum_f32_TREE_LL"}) {
            facts.shapes[static_cast<int64_t>(facts.kernels.size()) + 1] = {
                static_cast<int32_t>(facts.kernels.size()), 1, 1};
            facts.kernels.push_back({name, classify(name)});
        }
    }
    static std::string uuid(int64_t rank_id) { return "GPU-" + std::to_string(rank_id); }
    void run(const std::string& sql) { trace.base.run(sql); }

    void communicator(const std::string& uid, int rank, int ranks, int64_t row = 1, int64_t device = 0) {
        run("INSERT INTO communicator VALUES (" + list({row}) + ", '" + uid + "', 50, " +
            list({device, rank, ranks}) + ", NULL)");
    }
    // A call, and the kernel that it launched, which ran from start to end; end 0: it has no device times.
    void nccl(int64_t enter_ns, int64_t start_ns, int64_t end_ns, const NcclCall& call = {}) {
        const int64_t group = call.group >= 0 ? call.group : ++groups_;
        run("INSERT OR IGNORE INTO api VALUES (" +
            list({static_cast<int64_t>(std::hash<std::string>()(call.api) >> 8)}) + ", '" + call.api +
            "', '" + call.api + "', 'collective')");
        run("INSERT INTO collective SELECT " + list({enter_ns, 10, 1, call.stream}) + ", id, " +
            list({call.communicator, call.seq, 1, call.dtype}) + ", 0, " +
            (call.peer < 0 ? "NULL" : list({call.peer})) + ", " + list({call.bytes, group, call.flags}) +
            " FROM api WHERE name = '" + call.api + "'");
        if (!call.kernel) return;
        launch(enter_ns + 1, call.shape, call.stream, list({group}), call.flags);
        if (end_ns > 0) device(enter_ns + 1, start_ns, end_ns);
    }
    void launch(int64_t enter_ns, int shape, int stream, const std::string& group = "NULL", int flags = 0) {
        run("INSERT INTO launch VALUES (" + list({enter_ns, 1, 1, stream, shape}) + ", " + group + ", " +
            list({flags}) + ")");
    }
    void device(int64_t enter_ns, int64_t start_ns, int64_t end_ns) {
        run("INSERT INTO launch_device VALUES (" +
            list({enter_ns, start_ns - enter_ns, end_ns - start_ns, 1}) + ")");
    }
    void steps(int count, int64_t from_ns, int64_t length_ns) {
        for (int i = 0; i < count; ++i)
            facts.steps.push_back({from_ns + i * length_ns, from_ns + (i + 1) * length_ns, i + 1, 1, {}});
    }

    Trace trace;
    TraceFacts facts = {};

  private:
    static std::string list(std::initializer_list<int64_t> values) {
        std::string text;
        for (const int64_t value : values) text += (text.empty() ? "" : ", ") + std::to_string(value);
        return text;
    }
    int64_t groups_ = 100;
};

// How long the kernel whose launch was entered then waited; kNotRecorded: not known.
inline int64_t wait_of(const Collectives& all, int64_t rank_id, int64_t enter_ns) {
    for (const LaunchWait& wait : all.waits_of(rank_id))
        if (wait.enter_ns == enter_ns) return wait.wait_ns;
    return kNotRecorded;
}

// As the parts keep what they write.
inline void keep_rows(RunDb& run) {
    std::map<int64_t, WrittenGpu> gpus;
    Query steps(run.raw(), "run",
                "SELECT gpu_id, step, coalesce(window_ns, 0), coalesce(operations, 0),"
                " coalesce(own_work_ns, 0), first_launch_ns FROM gpu_step ORDER BY gpu_id, step");
    while (steps.step()) {
        WrittenGpu& gpu = gpus.try_emplace(steps.number(0), WrittenGpu{steps.number(0)}).first->second;
        gpu.launches_in_steps |= steps.number(1) >= 0 && steps.number(3) > 0;
        gpu.steps.push_back({static_cast<int32_t>(steps.number(1)), steps.number(2), 0, 0, 0, 0,
                             steps.number(4), steps.maybe(5).value_or(kNotRecorded)});
    }
    Query activity(run.raw(), "run",
                   "SELECT gpu_id, step, classes, ns FROM activity ORDER BY gpu_id, step, classes");
    while (activity.step())
        gpus.try_emplace(activity.number(0), WrittenGpu{activity.number(0)})
            .first->second.activity.push_back({static_cast<int32_t>(activity.number(1)),
                                               static_cast<uint32_t>(activity.number(2)),
                                               activity.number(3)});
    for (auto& [id, gpu] : gpus) run.keep(std::move(gpu));
}

class Ranks {
  public:
    // All of one communicator "c", on one host.
    explicit Ranks(int count, int members = 0) {
        for (int rank = 0; rank < count; ++rank) {
            ranks_.emplace_back(rank, "host");
            if (members >= 0) ranks_.back().communicator("c", rank, members == 0 ? count : members);
        }
    }
    Rank& add(const std::string& host) {
        return ranks_.emplace_back(static_cast<int64_t>(ranks_.size()), host);
    }
    Rank& operator[](int rank) { return ranks_[static_cast<size_t>(rank)]; }

    RunDb& run() { return run_; }
    Collectives& match() {
        for (Rank& rank : ranks_) {
            std::vector<CommSeat> seats = read_comm_seats(rank.facts);
            collectives_.put_aside(seats);
            collectives_.add(rank.facts, std::move(seats));
        }
        collectives_.match();
        return collectives_;
    }
    void write(const ReplayLimits& limits = {}) {
        match().write(run_);
        check_sums();
        keep_rows(run_);
        write_between_ranks(collectives_.all(), run_, limits);
    }

    // Of each row its columns with a space between, rows with a bar.
    std::string ask(const std::string& sql) {
        std::string text;
        Query query(run_.raw(), "run", sql);
        for (bool first = true; query.step(); first = false) {
            text += first ? "" : " | ";
            for (int i = 0; i < query.columns(); ++i)
                text += (i > 0 ? " " : "") + (query.is_null(i) ? "-" : query.text(i));
        }
        return text;
    }

  private:
    // What is kept of a rank's collectives together is what their rows say.
    void check_sums() {
        const std::string columns = "SELECT rank_id, own_ns, unknown_ns, messages, ranks, parts FROM ";
        CHECK(ask(columns + "collective_sum ORDER BY 1") == ask(columns + "v_collective_sum ORDER BY 1"));
    }

    TemporaryFolder folder_;
    std::deque<Rank> ranks_;
    Collectives collectives_{folder_.path(), 0};  // all in the file, as of very many calls
    RunDb run_{folder_.path() / "run.db"};
};

// What the parts would have written of a rank's GPU in a step.
struct StepRow {
    int64_t window_ns, busy_ns, first_launch_ns, own_work_ns;
};
inline void add_step(RunDb& run, int64_t rank, int64_t step, const StepRow& row) {
    run.add("gpu_step",
            {10 + rank, step, row.window_ns, row.busy_ns, row.busy_ns, row.busy_ns, row.busy_ns, int64_t{1},
             int64_t{1}, row.first_launch_ns, int64_t{0}, int64_t{0}, row.own_work_ns});
}

}  // namespace made
