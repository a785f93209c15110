#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "../failure.h"
#include "../process/child.h"
#include "../process/library.h"
#include "../process/output_folder.h"
#include "../process/run_notes.h"
#include "../process/settings.h"
#include "../terminal/stderr_line.h"
#include "../trace/recovery.h"
#include "command.h"
#include "manual.h"
#include "rank_summary.h"
#include "run_end.h"

namespace gpushim::analysis::command_run {

namespace {

namespace fs = std::filesystem;

// One row per variable of the library: --max-mb is GPUSHIM_MAX_MB. What they may be, the library knows.
constexpr Option kOptions[] = {
    {"out", "PATTERN",
     "where traces go: a folder, or a pattern with %h host, %p process id, %r rank, %l local rank, %j job, "
     "%q{VAR} the variable VAR, %% a percent sign",
     'o', "gpushim.%h.%r.%p.db"},
    {"disable", nullptr, "run the program without tracing; as a variable: 1"},
    {"log", "off|error|warn|info|debug", "what the library says on stderr", 0, "warn"},
    {"device-time", "auto|off|events|cupti",
     "how operations are timed. `auto` uses events, but not in a thread that "
     "measures "
     "with its own",
     0, "auto"},
    {"budget", "SHARE",
     "share of the program's threads' time that hooks and events may take; 100% times everything", 0, "1%"},
    {"stamp-gaps", "NS,NS,NS,NS",
     "of all GPUs, as row `truth` of gpu-check measures them: from a time stamp to the kernel behind it, at "
     "most, from a kernel to the stamp behind it, at most",
     0, "by the kind of GPU"},
    {"max-mb", "N", "largest size of a trace, database and log, in MiB; 0: no limit", 0, "2048"},
    {"min-free-mb", "N", "while less of the disk is free, in MiB, nothing is written", 0, "256"},
    {"legacy-events", "0|1", "0: no events on the legacy default stream, where each event is a barrier", 0,
     "1"},
    {"recover", "all|own", "all: also recover what other processes of this user left when they died", 0,
     "all"},
    {"ranks", "LIST", "trace only these ranks, as in 0,8-15", 0, "all"},
    {"steps", "FIRST:LAST",
     "record only these steps, as in 20:40; the first is 1, where the report counts from 0", 0, "all"},
    {"schedule", "W:W:A:R",
     "steps to wait, to warm up and to record, and how many times; 0 times: for ever. Only the steps to "
     "record are "
     "recorded",
     0, "all"},
    {"delay", "SECONDS", "record nothing for so long at the start", 0, "0"},
    {"duration", "SECONDS", "stop recording so long after the delay", 0, "no end"},
    {"capture", "all|profiler", "profiler: only between cudaProfilerStart and cudaProfilerStop", 0, "all"},
    {"python", "auto|off",
     "off: do not look where in its Python a thread is that launches nothing for a while", 0, "auto"},
    {"cublas", "auto|off", "off: do not record the sizes of cuBLAS's matrix products, from which FLOPs come",
     0, "auto"},
    {"nccl-profiler", "off|network|all",
     "be NCCL's profiler plug-in where the program has none. network: what each channel sends and receives, "
     "and "
     "what it waits for. all: also when each channel ran in its kernel, for which NCCL does more than "
     "otherwise",
     0, "off"},
    {"hang-after", "SECONDS",
     "say that a process hangs when it has waited so long inside a call and nothing else moved; 0: never", 0,
     "300"},
    {"on-hang", "CMD", "run this once then, with the verdict as JSON on its input", 0, "none"},
    {"metrics", "PATTERN",
     "write a file for Prometheus every 2 s for each process: a folder, or a pattern as of `--out`", 0,
     "none"},
    {"metrics-mode", "MODE", "who may read it, in octal digits: 640, 644", 0, "600"},
    {"samples-per-step", "N", "stored in the trace, for samples per second", 0, "unknown"},
    {"summarise", nullptr,
     "at the end, also write a rank summary beside each trace, as `gpushim analyze --rank-summary` does", 0,
     "", true},
    {"tag", "KEY=VALUE,…", "stored in the trace; `ledger` and `compare` show which tags changed", 0, "none"},
};

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
            stderr_line(complaint.name + complaint.said);
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
        if (const auto value = arguments.value(option.name); value && !option.is_of_the_command)
            setenv(variable_of(option.name).c_str(), value->c_str(), 1);
    check_settings(arguments);

    const RunNotes notes;
    std::map<std::string, std::string> variables = {{"LD_PRELOAD", preload_with(library)}};
    notes.name_in(variables);
    const int status = run_child(arguments.command_, variables);
    const RunLeft left = notes.read();
    recover(notes, left);
    if (notes.are_kept()) tell_end_of_run(left, arguments.command_);
    if (arguments.has("summarise") && notes.are_kept())
        summarise_left(left.traces);
    else if (arguments.has("summarise"))
        stderr_line("no summary: --summarise is for the outermost `gpushim run`");
    return end_like(status);
}

constexpr Command kRun = {
    "run",
    "[-o PATTERN] [options] -- CMD…",
    "run a program and trace it",
    "Nothing is started if the library cannot be loaded here or an option is not understood. The program "
    "keeps its "
    "input, output, signals and exit code. At the end, what killed processes left behind is recovered. "
    "`--summarise` then writes a rank summary beside each trace, as `gpushim analyze --rank-summary` does.",
    0,
    kOptions,
    run,
    true};
const Registration kRegistration(kRun);

}  // namespace

}  // namespace gpushim::analysis::command_run
