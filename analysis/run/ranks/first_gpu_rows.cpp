// Whether the first GPU does more than the others, and something that they do not do at all: gathering
// outputs, keeping the only copy of something, evaluating.
#include <algorithm>
#include <map>
#include <string>

#include "../../skew/stagger.h"
#include "../busy/activity_sweep.h"
#include "../collectives/collective_run.h"
#include "../sql/run_db.h"
#include "rank_rows.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kMostNames = 5;

std::map<int64_t, int64_t> by_gpu(const RunDb& run, const char* sql) {
    std::map<int64_t, int64_t> sums;
    Query query(run.raw(), "run", sql);
    while (query.step()) sums[query.number(0)] = query.number(1);
    return sums;
}

std::map<int64_t, int64_t> computing_ns(const RunDb& run) {
    std::map<int64_t, int64_t> sums;
    for (const WrittenGpu& gpu : run.written().gpus)
        for (const WrittenGpu::Activity& row : gpu.activity)
            if ((row.classes & kComputeBits) != 0) sums[gpu.gpu_id] += row.ns;
    return sums;
}

// Numbers for names, the same on all GPUs; by GPU those that it ran.
struct Names {
    std::map<std::string, int64_t> ids;
    std::vector<std::string> texts;
    std::map<int64_t, std::vector<int64_t>> of_gpu;

    explicit Names(const RunDb& run) {
        Query query(run.raw(), "run", "SELECT gpu_id, name FROM kernel ORDER BY name");
        while (query.step()) {
            const auto [found, is_new] = ids.try_emplace(query.text(1), static_cast<int64_t>(ids.size()));
            if (is_new) texts.push_back(query.text(1));
            of_gpu[query.number(0)].push_back(found->second);
        }
    }
};

std::string listed(const Names& names, const std::vector<int64_t>& ids) {
    std::string text;
    for (size_t i = 0; i < std::min(ids.size(), kMostNames); ++i)
        text += (i > 0 ? "\n" : "") + names.texts[static_cast<size_t>(ids[i])];
    return text;
}

}  // namespace

void write_first_gpu(const CollectiveRun& all, RunDb& run) {
    const auto loads = computing_ns(run);
    const auto peer_bytes =
        by_gpu(run, "SELECT gpu_id, sum(bytes) FROM copy_stat WHERE kind = 'p2p' GROUP BY gpu_id");
    Names names(run);
    std::vector<GpuLoad> gpus;
    std::vector<int64_t> ids;
    int64_t with_first = 0, among_others = 0;
    for (const TraceFacts* facts : all.traces)
        for (const Gpu& gpu : facts->gpus) {
            const auto load = loads.find(gpu.gpu_id), bytes = peer_bytes.find(gpu.gpu_id);
            if (load == loads.end()) continue;
            if (bytes != peer_bytes.end()) (gpus.empty() ? with_first : among_others) += bytes->second;
            gpus.push_back({load->second, names.of_gpu[gpu.gpu_id]});
            ids.push_back(gpu.gpu_id);
        }
    const auto found = first_gpu(gpus, with_first, among_others);
    if (!found) return;
    run.add("first_gpu", {ids.front(), found->excess, static_cast<int64_t>(found->only_kernels.size()),
                          listed(names, found->only_kernels), found->p2p_bytes});
}

}  // namespace gpushim::analysis
