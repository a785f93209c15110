#include "run_source.h"

#include "../advice/advise.h"
#include "../failure.h"
#include "../run/analyze.h"
#include "../run/sql/run_db.h"
#include "../sqlite/plain_tables.h"
#include "../terminal/stderr_line.h"
#include "../trace/work_bound.h"

namespace gpushim::analysis {

namespace fs = std::filesystem;

namespace {

constexpr const char* kRunFile = "gpushim.run.db";

bool holds_a_run(const fs::path& file) {
    try {
        return application_of(file) == kRunApplication && is_run(Database(file));
    } catch (const Failure&) {
        return false;  // whoever reads it as a trace says what is wrong with it
    }
}

// A run database among the words; a folder means the traces in it, and where it has none its run.
std::optional<fs::path> run_among(const std::vector<std::string>& words) {
    std::optional<fs::path> found;
    for (const std::string& word : words) {
        fs::path file = word;
        if (fs::is_directory(file)) {
            if (!databases_in(file).empty()) continue;
            file /= kRunFile;
        }
        if (!holds_a_run(file)) continue;
        if (words.size() > 1)
            throw Failure(file.string() + " is a whole run: give it alone, or only the traces");
        found = file;
    }
    return found;
}

Database opened(const fs::path& place) {
    Database run(place);
    Query version = run.prepare("PRAGMA user_version");
    version.step();
    if (version.number(0) > kRunSchema)
        throw Failure(place.string() + ": written by a newer gpushim; analyse its traces with this one");
    if (version.number(0) < kRunSchema)
        throw Failure(place.string() + ": written by an older gpushim; analyse its traces again");
    require_plain_tables(run);
    bound_work(run);
    return run;
}

// Beside the traces. What has its name and is none is somebody else's.
fs::path analyzed_beside(const Inputs& traces, const RunOptions& options, const fs::path& place) {
    if (fs::exists(place) && !holds_a_run(place))
        throw Unwritable(place.string() + ": exists and is not a run database");
    return analyze(traces, options, place, write_findings);
}

fs::path analyzed_in(const TemporaryFolder& folder, const Inputs& traces, const RunOptions& options) {
    try {
        return analyze(traces, options, folder.path() / kRunFile, write_findings);
    } catch (const Unwritable& failure) {
        throw Unwritable(failure.what() + std::string("; set TMPDIR to another folder"));
    }
}

}  // namespace

std::optional<Database> run_given(const std::vector<std::string>& words) {
    const auto run = run_among(words);
    return run ? std::optional(opened(*run)) : std::nullopt;
}

fs::path place_beside(const std::vector<std::string>& words) {
    const fs::path first = fs::absolute(words[0]);
    return (fs::is_directory(first) ? first : first.parent_path()) / kRunFile;
}

RunSource open_run(const std::vector<std::string>& words, const RunOptions& options,
                   const std::optional<fs::path>& place) {
    if (const auto run = run_among(words)) {
        if (!options.step_marker.empty())
            throw Failure("--step-marker applies to traces; " + run->string() + " already has its steps");
        if (options.program)
            throw Failure("--serving and --training apply to traces; " + run->string() +
                          " already has its steps");
        return {nullptr, {}, nullptr, *run, opened(*run)};
    }
    auto recovery = std::make_unique<Recovery>(words);
    Inputs traces = open_traces(words, *recovery);
    std::unique_ptr<const TemporaryFolder> temporary;
    fs::path made = place ? *place : place_beside(words);
    try {
        place ? analyze(traces, options, made, write_findings) : analyzed_beside(traces, options, made);
    } catch (const Unwritable& failure) {
        if (place) throw;
        stderr_line(failure.what() +
                    std::string("; the analysis is not kept (`gpushim analyze -o FILE` keeps one)"));
        temporary = std::make_unique<const TemporaryFolder>();
        made = analyzed_in(*temporary, traces, options);
    }
    return {std::move(recovery), std::move(traces), std::move(temporary), made, opened(made)};
}

}  // namespace gpushim::analysis
