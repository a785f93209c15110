#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "../failure.h"
#include "../process/child.h"
#include "../process/library.h"
#include "../process/output_folder.h"
#include "../process/run_notes.h"
#include "../process/settings.h"
#include "../terminal/tell.h"
#include "../trace/recovery.h"
#include "command.h"
#include "run_end.h"

namespace gpushim::analysis::command_run {

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

std::string refusal(const SettingComplaint& complaint, const Arguments& arguments) {
    for (const Option& option : kOptions)
        if (arguments.has(option.name) && variable_of(option.name) == complaint.name)
            return "--" + std::string(option.name) + complaint.said;
    return complaint.name + complaint.said;
}

// Throws Failure for values that would be replaced by the default once the program runs.
void check_settings(const Arguments& arguments) {
    std::string refused;
    for (const SettingComplaint& complaint : setting_complaints()) {
        if (complaint.is_name)
            tell(complaint.name + complaint.said);
        else
            refused += (refused.empty() ? "" : "; ") + refusal(complaint, arguments);
    }
    if (!refused.empty()) throw Failure(refused + "; nothing was started");
}

// Of the traces that were noted; where an outer run has the notes, of the folder that they should be in.
void recover(const RunNotes& notes, const RunLeft& left) {
    std::vector<std::string> where;
    for (const fs::path& trace : left.traces) where.push_back(trace.string());
    const char* pattern = std::getenv("GPUSHIM_OUT");
    if (!notes.are_kept()) where.push_back(output_folder(pattern != nullptr ? pattern : "").string());
    std::error_code none;
    std::erase_if(where, [&](const std::string& path) { return !fs::exists(path, none); });
    if (!where.empty()) const Recovery recovery(where);
}

int run(const Arguments& arguments) {
    if (!arguments.words_.empty())
        throw Failure("write the program after `--`: gpushim run [options] -- " + arguments.words_[0] + " …");
    if (arguments.command_.empty())
        throw Failure("nothing to run: gpushim run [options] -- PROGRAM [ARGUMENT…]");
    const fs::path library = library_path();
    if (const std::string why = why_not_loaded(library); !why.empty())
        throw Failure(library.string() + " cannot be preloaded here, so the program was not started: " + why);
    // Into our own environment, too: the library is asked whether it understands what the program will have.
    for (const Option& option : kOptions)
        if (const auto value = arguments.value(option.name))
            setenv(variable_of(option.name).c_str(), value->c_str(), 1);
    check_settings(arguments);

    const RunNotes notes;
    std::map<std::string, std::string> variables = {{"LD_PRELOAD", preload_with(library)}};
    notes.name_in(variables);
    const int status = run_child(arguments.command_, variables);
    const RunLeft left = notes.read();
    recover(notes, left);
    if (notes.are_kept()) tell_end_of_run(left, arguments.command_);
    return end_like(status);
}

constexpr Command kRun = {
    "run", "[-o PATTERN] [options] -- CMD…", "run a program and trace it", 0, kOptions, run, true};
const Registration kRegistration(kRun);

}  // namespace

}  // namespace gpushim::analysis::command_run
