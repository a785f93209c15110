// Traces of a few GPUs that are drawn by hand and given to the part that says how busy they were; what it
// wrote is asked by SQL.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/run/busy/busy_part.h"
#include "analysis/run/sql/run_db.h"
#include "calls.h"

namespace busy_scene {

using namespace made;

// A run database that nobody finishes, and its rows as text: "1|2, 3|4".
class Asked {
  public:
    Asked() : run_(place()) {}
    RunDb& run() { return run_; }
    std::string rows(const std::string& sql) {
        std::string text;
        for (Query query(run_.raw(), "run", sql); query.step();) {
            if (!text.empty()) text += ", ";
            for (int i = 0; i < query.columns(); ++i)
                text += (i == 0 ? "" : "|") + (query.is_null(i) ? std::string("NULL") : query.text(i));
        }
        return text;
    }
    void execute(const std::string& sql) { Query(run_.raw(), "run", sql).step(); }

  private:
    static std::filesystem::path place() {
        static int number = 0;
        return std::filesystem::temp_directory_path() /
               ("busy_scene." + std::to_string(getpid()) + "." + std::to_string(number++));
    }
    RunDb run_;
};

// GPUs 0, 1 …, each with `streams` streams; lanes go GPU by GPU. Rows of `gpu`: 10, 11 … An empty queue takes
// 5, at most 9; operations back to back are 3 apart.
inline TraceFacts facts_of(int gpus, int streams) {
    TraceFacts facts = {};
    facts.rank_id = 4;
    for (int gpu = 0; gpu < gpus; ++gpu) {
        facts.gpus.push_back({10 + gpu, gpu, "", "", true, {5, 9, 3}});
        for (int i = 0; i < streams; ++i) {
            facts.lanes.push_back({gpu * streams + i, gpu, gpu, kContextHandle + gpu, false, false});
            facts.gpu_of_lane.push_back(gpu);
        }
    }
    facts.apis[1] = {"cuLaunchHostFunc", "cuLaunchHostFunc", "host_call"};
    facts.host_classes = {"futex", "disk"};
    return facts;
}

inline TimedPiece piece_of(std::vector<Interval> known, std::vector<WholeStep> steps = {}) {
    TimedPiece piece;
    piece.host = known.front();
    piece.known = std::move(known);
    piece.steps = std::move(steps);
    return piece;
}

inline void give(Part& part, const TimedPiece& piece, const std::vector<Call>& calls, size_t before = 0) {
    for (const Call& call : calls) part.see(call);
    part.begin(piece);
    for (size_t i = 0; i < calls.size(); ++i) part.take(calls[i], i < before);
    part.end();
}

inline Call typed(Call call, OperationClass type, int64_t wait_ns = kNotRecorded) {
    call.type = type;
    call.wait_ns = wait_ns;
    return call;
}

}  // namespace busy_scene
