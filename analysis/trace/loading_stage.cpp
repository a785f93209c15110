#include "loading_stage.h"

#include <iterator>

#include "code_words.h"

namespace gpushim::analysis {

namespace {

static_assert(std::size(kLoadingStages) == static_cast<size_t>(LoadingStage::count));

struct StageWord {
    LoadingStage stage;
    CodeWord code;
};
struct StageOfName {
    LoadingStage stage;
    std::string_view name;
};

constexpr StageWord kCode[] = {
#define CODE(stage, ...) {LoadingStage::stage, {__VA_ARGS__}},
#include "loading_words.def"
#undef CODE
};
constexpr StageOfName kOperators[] = {
#define OPERATOR(stage, begins) {LoadingStage::stage, begins},
#include "loading_words.def"
#undef OPERATOR
};
constexpr StageOfName kBlocked[] = {
#define BLOCKED(stage, on) {LoadingStage::stage, on},
#include "loading_words.def"
#undef BLOCKED
};

}  // namespace

LoadingStage stage_of_code(std::string_view file, std::string_view function, Loader loader) {
    const auto counts = [&](const CodeWord& code) {
        return loader == Loader::named || !code.folder.empty() || code.file != "*";
    };
    for (const StageWord& row : kCode)
        if (counts(row.code) && fits(row.code, file, function)) return row.stage;
    return LoadingStage::untold;
}

LoadingStage stage_of_operator(std::string_view name) {
    for (const StageOfName& row : kOperators)
        if (name.starts_with(row.name)) return row.stage;
    return LoadingStage::untold;
}

LoadingStage stage_of_blocked(std::string_view on) {
    for (const StageOfName& row : kBlocked)
        if (on == row.name) return row.stage;
    return LoadingStage::untold;
}

}  // namespace gpushim::analysis
