#include "run_source.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "../failure.h"
#include "../run/analyze.h"
#include "../run/run_db.h"
#include "../text/tell.h"
#include "../trace/plain_tables.h"
#include "../trace/work_bound.h"

namespace gpushim::analysis {

namespace fs = std::filesystem;

namespace {

constexpr const char* kRunFile = "gpushim.run.db";

bool holds_a_run(const fs::path& file) {
    try {
        return fs::is_regular_file(file) && is_run(Database(file));
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
    require_plain_tables(run);
    bound_work(run);
    return run;
}

// It stays when we are gone, so nothing removes it.
fs::path in_temporary_folder(const fs::path& wanted) {
    std::string folder = (fs::temp_directory_path() / "gpushim-run-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr)
        throw Failure(folder + ": no temporary folder to be had", kIncomplete);
    const fs::path place = fs::path(folder) / kRunFile;
    tell(wanted.string() + " cannot be made; the run is in " + place.string());
    return place;
}

fs::path beside(const std::vector<std::string>& words) {
    const fs::path first = fs::absolute(words[0]);
    const fs::path folder = fs::is_directory(first) ? first : first.parent_path();
    const fs::path place = folder / kRunFile;
    // What has its name and is none is somebody else's.
    const bool taken = fs::exists(place) && !holds_a_run(place);
    return access(folder.c_str(), W_OK) == 0 && !taken ? place : in_temporary_folder(place);
}

}  // namespace

RunSource open_run(const std::vector<std::string>& words, const RunOptions& options,
                   const std::optional<fs::path>& place) {
    if (const auto run = run_among(words)) {
        if (!options.step_marker.empty())
            throw Failure("--step-marker is for traces; " + run->string() + " has its steps");
        return {nullptr, {}, *run, opened(*run)};
    }
    auto recovery = std::make_unique<Recovery>(words);
    Inputs traces = open_traces(words, *recovery);
    const fs::path made = analyze(traces, options, place ? *place : beside(words));
    return {std::move(recovery), std::move(traces), made, opened(made)};
}

}  // namespace gpushim::analysis
