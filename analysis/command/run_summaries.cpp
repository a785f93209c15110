#include "run_summaries.h"

#include "../terminal/progress.h"
#include "report_options.h"
#include "run_source.h"

namespace gpushim::analysis {

namespace fs = std::filesystem;

namespace {

// use(source, its name, what was given with the command)
template <class Use>
void for_each_run(const Arguments& arguments, Use use) {
    const ReportOptions asked = report_options(arguments);
    for (size_t i = 0; i < arguments.words_.size(); ++i) {
        const Progress reading(nth_of("run", i, arguments.words_.size()));
        const std::string& word = arguments.words_[i];
        use(open_run({word}, run_options(arguments), {}), name_of(word),
            Given{asked.params, asked.samples_per_step, asked.bandwidth_bytes_per_s});
    }
}

}  // namespace

std::string name_of(const fs::path& word) {
    const fs::path path = fs::absolute(word).lexically_normal();
    return path.filename().empty() ? path.parent_path().filename().string() : path.filename().string();
}

std::vector<RunSummary> open_summaries(const Arguments& arguments, bool& complete) {
    std::vector<RunSummary> runs;
    for_each_run(arguments, [&](const RunSource& source, const std::string& name, const Given& given) {
        complete = complete && source.complete();
        runs.push_back(summarise(source.run, name, given));
    });
    return runs;
}

std::vector<Side> open_sides(const Arguments& arguments) {
    std::vector<Side> sides;
    for_each_run(arguments, [&](const RunSource& source, const std::string& name, const Given& given) {
        sides.push_back(read_side(source.run, name, given));
        sides.back().is_whole = sides.back().is_whole && source.complete();
    });
    return sides;
}

}  // namespace gpushim::analysis
