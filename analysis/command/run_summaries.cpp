#include "run_summaries.h"

#include "report_options.h"
#include "run_source.h"

namespace gpushim::analysis {

namespace {

namespace fs = std::filesystem;

std::string name_of(const fs::path& word) {
    const fs::path path = fs::absolute(word).lexically_normal();
    return path.filename().empty() ? path.parent_path().filename().string() : path.filename().string();
}

}  // namespace

std::vector<RunSummary> open_summaries(const Arguments& arguments, bool& complete) {
    const ReportOptions asked = report_options(arguments);
    std::vector<RunSummary> runs;
    for (const std::string& word : arguments.words_) {
        const RunSource source = open_run({word}, run_options(arguments), {});
        complete = complete && source.complete();
        runs.push_back(summarise(source.run, name_of(word),
                                 {asked.params, asked.samples_per_step, asked.bandwidth_bytes_per_s}));
    }
    return runs;
}

}  // namespace gpushim::analysis
