// Which rank a trace is of, by its file's name. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gpushim::analysis {

// By "rank" (rank-3.json, trace_rank3.json.gz, rank[3].json), else by "worker" (worker.3.pt.trace.json), else
// by a last part that is a number (trace_3.json), if numbers count. None for
// host_4711.1690000000000.pt.trace.json, PyTorch's own choice of a name, and for
// libkineto_activities_4711.json: those numbers are processes.
std::optional<int64_t> rank_of_file_name(std::string_view path, bool numbers_count = true);

// Numbers count in names of several files that are alike but for them. A lone trace_3.json may be the third
// attempt, and a host may be called node-3.
bool are_numbered(std::span<const std::string> paths);

}  // namespace gpushim::analysis
