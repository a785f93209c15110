// Which part of loading a batch a thread was at, by names: of functions of Python, of operators and marks of
// frameworks, of what it was blocked on (loading_words.def). They say so of a thread that loads; elsewhere
// the same names mean other things. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gpushim::analysis {

enum class LoadingStage : uint8_t { untold, waits, reads, decodes, transforms, collates, copies, count };

struct LoadingStageRow {
    LoadingStage stage;
    const char* name;
    const char* said;
};

inline constexpr LoadingStageRow kLoadingStages[] = {
    {LoadingStage::untold, "untold", "what nothing tells"},
    {LoadingStage::waits, "waits", "waiting for workers or queues"},
    {LoadingStage::reads, "reads", "reading files or the network"},
    {LoadingStage::decodes, "decodes", "decoding"},
    {LoadingStage::transforms, "transforms", "transforming samples"},
    {LoadingStage::collates, "collates", "putting samples together"},
    {LoadingStage::copies, "copies", "copying, to pinned memory or a GPU"},
};

constexpr const LoadingStageRow& row_of(LoadingStage stage) {
    return kLoadingStages[static_cast<size_t>(stage)];
}
constexpr const char* name_of(LoadingStage stage) { return row_of(stage).name; }

// In a loader that nothing names, only names of files tell it: `read` or `transform` is anything in a
// program.
enum class Loader : uint8_t { named, not_named };

LoadingStage stage_of_code(std::string_view file, std::string_view function, Loader loader = Loader::named);
LoadingStage stage_of_operator(std::string_view name);
LoadingStage stage_of_blocked(std::string_view on);  // a class of host_gap

}  // namespace gpushim::analysis
