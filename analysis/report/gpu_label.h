// What people call a GPU of the run: "rank 3"; where a rank has several, "rank 3 GPU 1"; where that is not
// one GPU's alone, "node7 process 4711".
#pragma once

#include <map>
#include <optional>
#include <string>

#include "../sqlite/database.h"

namespace gpushim::analysis {

struct GpuLabel {
    std::optional<int64_t> rank;
    std::string text;
    int64_t rank_id;
};

std::map<int64_t, GpuLabel> gpu_labels(const Database& run);  // by gpu_id

}  // namespace gpushim::analysis
