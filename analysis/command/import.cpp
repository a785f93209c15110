#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "../advice/advise.h"
#include "../failure.h"
#include "../importer/kineto/kineto_trace.h"
#include "../importer/nsys/nsys_trace.h"
#include "../importer/trace_rank.h"
#include "../importer/xplane/xplane_trace.h"
#include "../parallel/in_parallel.h"
#include "../process/heap.h"
#include "../process/temporary.h"
#include "../run/analyze.h"
#include "../run/earlier_profiles.h"
#include "../terminal/progress.h"
#include "../terminal/stderr_line.h"
#include "../trace/recovery.h"
#include "command.h"

namespace gpushim::analysis::command_import {

namespace {

namespace fs = std::filesystem;

constexpr const char* kUsageText = "import what? gpushim import [kineto|nsys|xplane] FILE… -o run.db";

constexpr Option kOptions[] = {
    {"output", "FILE", "the run database to write", 'o', "gpushim.run.db"},
    {"keep-traces", "DIR", "also keep the traces that the run is made of"},
};

using Import = ImportedFile (*)(const std::string& file, const fs::path& trace, bool numbers_count);
struct Source {
    const char* name;
    Import import;
    size_t at_once;                              // files: each takes up to 120 MB
    std::initializer_list<const char*> endings;  // of its files' names
};
constexpr Source kSources[] = {
    {"kineto", import_kineto, 8, {".json", ".json.gz"}},
    // Each may have files of its own open for 128 processes.
    {"nsys", import_nsys, 2, {".sqlite", ".nsys-rep", ".qdrep"}},
    {"xplane", import_xplane, 8, {".xplane.pb", ".xplane.pb.gz"}},
};

const Source* source_named(const std::string& name) {
    for (const Source& source : kSources)
        if (source.name == name) return &source;
    return nullptr;
}

const Source& source_by_name_of(const std::string& file) {
    for (const Source& source : kSources)
        if (std::any_of(source.endings.begin(), source.endings.end(),
                        [&](const char* ending) { return file.ends_with(ending); }))
            return source;
    throw Failure(file +
                  ": its name does not tell which tool wrote it; say kineto, nsys or xplane before it");
}

const Source& source_of_files(std::span<const std::string> files) {
    if (files.empty()) throw Failure(kUsageText);
    const Source& source = source_by_name_of(files.front());
    for (const std::string& file : files)
        if (&source_by_name_of(file) != &source)
            throw Failure(files.front() + " and " + file + " are of two tools; import them one by one");
    return source;
}

// Ranks often have files of the same name in folders of their own.
fs::path place_of(const fs::path& folder, const std::string& file, size_t number) {
    std::string name = fs::path(file).filename().string();
    name = name.substr(0, name.find('.'));
    return folder / (name + "." + std::to_string(number) + ".db");
}

struct Imported {
    std::vector<std::string> traces;
    std::map<std::string, std::string> of_trace;  // the file that it was
    bool is_whole = true;
};

// What came of a file: it could be read, or why not.
struct Outcome {
    ImportedFile made;
    std::string why_not;
};

Outcome read_file(const Source& source, const std::string& file, const fs::path& place, bool numbers_count) {
    try {
        return {source.import(file, place, numbers_count), {}};
    } catch (const Unwritable&) {
        throw;
    } catch (const Failure& failure) {
        return {{}, failure.what()};
    }
}

int64_t bytes_of(const std::string& file) {
    std::error_code error;
    const uintmax_t bytes = fs::file_size(file, error);
    return error ? 1 : static_cast<int64_t>(bytes);  // of a pipe nobody knows
}

std::vector<Outcome> read_files(const Source& source, std::span<const std::string> files,
                                const fs::path& folder) {
    const bool numbers_count = are_numbered(files);
    if (files.size() == 1) {
        const Progress importing("importing " + fs::path(files[0]).filename().string(),
                                 Progress::Unit::bytes);
        return {read_file(source, files[0], place_of(folder, files[0], 0), numbers_count)};
    }
    const Progress importing("importing " + std::to_string(files.size()) + " files");
    for (const std::string& file : files) Progress::expect(bytes_of(file));
    std::vector<Outcome> outcomes(files.size());
    const size_t processors = std::max(1U, std::thread::hardware_concurrency());
    in_parallel(files.size(), std::min(processors, source.at_once), [&](size_t i) {
        const ProgressWhole reading(bytes_of(files[i]));
        outcomes[i] = read_file(source, files[i], place_of(folder, files[i], i), numbers_count);
    });
    return outcomes;
}

// A file that cannot be read is named, and the others are taken.
Imported import_files(const Source& source, std::span<const std::string> files, const fs::path& folder) {
    const std::vector<Outcome> outcomes = read_files(source, files, folder);
    Imported all;
    std::vector<std::string> left_out;
    for (size_t i = 0; i < files.size(); ++i) {
        const auto& [made, why_not] = outcomes[i];
        if (!why_not.empty()) left_out.push_back(why_not);
        for (const fs::path& trace : made.traces) {
            all.traces.push_back(trace.string());
            all.of_trace[trace.string()] = files[i];
        }
        if (made.note.empty()) continue;
        stderr_line(made.note);
        all.is_whole = false;
    }
    tell_few("left out ", left_out);
    all.is_whole = all.is_whole && left_out.empty();
    if (all.traces.empty()) throw Failure("nothing to import in these files");
    return all;
}

// A run has each process once.
bool leave_out_earlier(Inputs& inputs, const Imported& imported) {
    const auto file_of = [&](const std::string& trace) {
        const auto found = imported.of_trace.find(trace);
        return found == imported.of_trace.end() ? trace : found->second;
    };
    std::vector<std::string> left_out;
    for (const EarlierProfile& one : leave_out_earlier_profiles(inputs.traces))
        left_out.push_back(file_of(one.trace) + ": of the same process as " + file_of(one.later) +
                           ", and earlier; import it by itself");
    tell_few("left out ", left_out);
    return !left_out.empty();
}

int run(const Arguments& arguments) {
    std::span<const std::string> files = arguments.words_;
    const Source* named = files.empty() ? nullptr : source_named(files[0]);
    if (named != nullptr) files = files.subspan(1);
    if (files.empty()) throw Failure(kUsageText);
    use_one_heap();
    const Source& source = named != nullptr ? *named : source_of_files(files);
    const auto kept = arguments.value("keep-traces");
    std::unique_ptr<TemporaryFolder> temporary;
    if (!kept) temporary = std::make_unique<TemporaryFolder>();
    const fs::path folder = kept ? fs::path(*kept) : temporary->path();
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) throw Failure(folder.string() + ": " + error.message());
    const Imported imported = import_files(source, files, folder);
    Inputs inputs = open_traces(imported.traces, Recovery());
    if (!kept)
        for (Trace& trace : inputs.traces) {
            // Nobody else has it: one lock for all that is read, not one for each query.
            trace.base.run("BEGIN");
            // People know the file that it was, and it is the same each time.
            trace.path = imported.of_trace.at(trace.path.string());
        }
    for (const std::string& note : inputs.notes) stderr_line(note);
    const bool has_earlier = leave_out_earlier(inputs, imported);
    analyze(inputs, {}, arguments.value("output").value_or("gpushim.run.db"), write_findings);
    return imported.is_whole && inputs.refused.empty() && !has_earlier ? kFine : kIncomplete;
}

constexpr Command kImport = {
    "import",
    "[kineto|nsys|xplane] FILE… -o run.db",
    "read the traces of another tool into a run database",
    "`kineto` reads traces of PyTorch's profiler, `nsys` the SQLite exports of Nsight Systems, "
    "`xplane` the .xplane.pb files of TensorFlow and JAX, one for each host. Without that word the ends of "
    "names tell: .json or .json.gz, .sqlite, .xplane.pb.",
    -1,
    kOptions,
    run};
const Registration kRegistration(kImport);

}  // namespace

}  // namespace gpushim::analysis::command_import
