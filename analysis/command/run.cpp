#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "../failure.h"
#include "../process/child.h"
#include "../process/library.h"
#include "../process/recovery.h"
#include "command.h"

namespace gpushim::analysis {

namespace {

namespace fs = std::filesystem;

// One row per variable of the library: --max-mb is GPUSHIM_MAX_MB. What they may be, the library knows.
constexpr Option kOptions[] = {
    {"out", "PATTERN", "where traces go: %h host, %p pid, %r rank, %l local rank, %j job, %q{VAR}", 'o'},
    {"disable", nullptr, "run the program without the shim"},
    {"log", "LEVEL", "off, error, warn, info, debug; on stderr (warn)"},
    {"device-time", "HOW", "auto, off, events, cupti (auto)"},
    {"budget", "SHARE", "of the program's threads' time that recording may take (1%)"},
    {"max-mb", "N", "size of a trace; 0: no limit (2048)"},
    {"min-free-mb", "N", "stop writing below this much free disk (256)"},
    {"legacy-events", "0|1", "0: no events of ours on the legacy default stream (1)"},
    {"ranks", "LIST", "only these ranks, as 0,8-15 (all)"},
    {"steps", "FIRST:LAST", "only these steps (all)"},
    {"schedule", "W:W:A:R", "wait, warm-up, active steps, repeat"},
    {"delay", "SECONDS", "before recording begins (0)"},
    {"duration", "SECONDS", "of recording (no end)"},
    {"capture", "WHAT", "all, profiler: between cudaProfilerStart and Stop (all)"},
    {"samples-per-step", "N", "for samples per second"},
    {"tag", "KEY=VALUE,…", "stored in the trace"},
};

std::string variable_of(std::string name) {
    for (char& c : name) c = c == '-' ? '_' : static_cast<char>(c - 'a' < 26 && c >= 'a' ? c - 'a' + 'A' : c);
    return "GPUSHIM_" + name;
}

// The folder that traces of this pattern go to; a folder that is itself a pattern: the one it is in.
fs::path folder_of(std::string pattern) {
    const size_t placeholder = pattern.find('%');
    const fs::path path = fs::path(pattern.substr(0, placeholder)).parent_path();
    return path.empty() ? fs::path(".") : path;
}

int run(const Arguments& arguments) {
    if (!arguments.words_.empty())
        throw Failure("write the program after `--`: gpushim run [options] -- " + arguments.words_[0] + " …");
    if (arguments.command_.empty())
        throw Failure("nothing to run: gpushim run [options] -- PROGRAM [ARGUMENT…]");
    std::map<std::string, std::string> variables;
    for (const Option& option : kOptions)
        if (const auto value = arguments.value(option.name)) variables[variable_of(option.name)] = *value;

    const fs::path library = library_path();
    if (const std::string why = why_not_loaded(library); !why.empty())
        throw Failure(library.string() + " cannot be preloaded here, so the program was not started: " + why);
    variables["LD_PRELOAD"] = preload_with(library);
    // A folder that was named here is wanted; where it cannot be made, the library says so.
    std::error_code error;
    if (const auto out = arguments.value("out")) fs::create_directories(folder_of(*out), error);
    const int status = run_child(arguments.command_, variables);

    const char* pattern = std::getenv("GPUSHIM_OUT");
    const std::string folder =
        folder_of(arguments.value("out").value_or(pattern != nullptr ? pattern : "")).string();
    const Recovery recovery({&folder, 1});
    return end_like(status);
}

constexpr Command kRun = {
    "run", "[-o PATTERN] [options] -- CMD…", "run a program and trace it", 0, kOptions, run, true};
const Registration kRegistration(kRun);

}  // namespace

}  // namespace gpushim::analysis
