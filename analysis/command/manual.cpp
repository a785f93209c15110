#include "manual.h"

#include "../../shim/schema/exposition.h"
#include "../failure.h"
#include "command.h"

namespace gpushim::analysis {

namespace {

const std::vector<ManualRow> kNoSettings = {
    {"GPUSHIM_RUN_NOTES", "no setting: `gpushim run` tells its processes where to note their traces", ""},
    {"GPUSHIM_HANG_PID", "no setting: the command of GPUSHIM_ON_HANG finds the process that hangs in it", ""},
    {"GPUSHIM_BUILD, GPUSHIM_TRACES, GPUSHIM_REAL_TRACES, GPUSHIM_HTA_PYTHON, GPUSHIM_PEERS, "
     "GPUSHIM_PERFETTO, GPUSHIM_TENSORBOARD_PYTHON, GPUSHIM_TRACKERS_PYTHON, GPUSHIM_LIGHTNING_PYTHON, "
     "GPUSHIM_NOTEBOOK_PYTHON, GPUSHIM_PACKAGES_PYTHON",
     "no settings: the scripts, examples and tests of the repository set them", ""},
};

const std::vector<ManualRow> kExitCodes = {
    {std::to_string(kFine), "fine; `compare`: the same or better", ""},
    {std::to_string(kSlower),
     "slower: `compare`, `history`; `report`, `watch`, `doctor --pid`: the job hangs", ""},
    {std::to_string(kUsage), "wrong usage, or no usable input", ""},
    {std::to_string(kIncomplete),
     "the answer is incomplete or inconclusive, or could not be written; `doctor`: something would not be "
     "seen",
     ""},
};

const std::vector<ManualRow> kFiles = {
    {"gpushim.HOST.RANK.PID.db",
     "a trace: one for each process that used a GPU, in the folder where the process started. `--out` "
     "chooses "
     "another name or folder",
     ""},
    {"gpushim.run.db", "the run's database, which `gpushim report` makes beside the traces", ""},
    {"(without a name)",
     "beside a run while it is made: calls of NCCL that memory has no room for. It leaves half of what the "
     "disk "
     "has free, and is gone with the process",
     ""},
    {"NAME.summary", "a rank summary of the trace NAME.db: what `gpushim analyze --rank-summary` writes", ""},
    {"*.db-wal, *.db-shm", "belong to a database that is being written", ""},
    {"gpushim.off", "beside the traces: recording stops within a second, until the file is removed", ""},
    {"gpushim.keep", "beside the traces: the rows that are recorded while the file is there are kept", ""},
    {"gpushim.rank-RANK.pt.trace.json.gz", "a timeline: what `gpushim export chrome` writes without `-o`",
     ""},
    {"/dev/shm", "events that are not in a trace yet, at most 64 MiB for each process", ""},
    {"libgpushim.so", "the library, to be named in LD_PRELOAD", ""},
};

const std::vector<ManualRow> kExamples = {
    {"gpushim run -- python train.py", "trace a program", ""},
    {"LD_PRELOAD=libgpushim.so python train.py", "the same without `gpushim run`", ""},
    {"gpushim run -o 'traces/%h.%r.%p.db' -- python train.py", "choose where the traces go", ""},
    {"gpushim run --budget 100% -- python train.py", "time every operation", ""},
    {"gpushim report", "report on the newest run in this folder", ""},
    {"gpushim report traces/ --html run.html", "also write a page to open or attach", ""},
    {"gpushim report traces/ --params 11689512 --bandwidth 200GB/s --price 2.50",
     "compare AllReduce with what the model needs, and put a price on idle time", ""},
    {"gpushim sql traces/ \"SELECT cause, sum(ns) FROM gap GROUP BY cause ORDER BY 2 DESC\"",
     "idle time by cause, in SQL", ""},
    {"gpushim stats cuda_gpu_kern_sum traces/ --format csv", "a table of nsys, in its columns", ""},
    {"gpushim export chrome traces/ -o timeline/", "write timelines that the Perfetto UI opens", ""},
    {"gpushim compare before/ after/", "compare two runs", ""},
    {"gpushim watch traces/", "wait until the job hangs, and say which rank is missing", ""},
    {"gpushim doctor -- python train.py", "find out what would be seen of a program, and what not", ""},
};

std::string option_text(const Option& option) {
    std::string text;
    if (option.letter != 0) text += {'-', option.letter, ',', ' '};
    return text + "--" + option.name + (option.value ? std::string(" ") + option.value : "");
}

std::vector<ManualRow> variables() {
    std::vector<ManualRow> rows;
    if (const Command* const run = command_named("run"))
        for (const Option& option : run->options)
            if (!option.is_of_the_command)
                rows.push_back(
                    {variable_of(option.name) + ", " + option_text(option), option.help, option.by_default});
    rows.insert(rows.end(), kNoSettings.begin(), kNoSettings.end());
    return rows;
}

std::vector<ManualRow> metrics_of(MetricWriter writer) {
    std::vector<ManualRow> rows;
    for (const MetricRow& row : kMetrics) {
        if (row.writer != writer) continue;
        const std::string labels = row.labels.empty() ? "" : "{" + std::string(row.labels) + "}";
        rows.push_back({std::string(row.name) + labels, std::string(row.help), ""});
    }
    return rows;
}

}  // namespace

std::string variable_of(std::string_view option) {
    std::string name = "GPUSHIM_";
    for (const char c : option) name += c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
    return name;
}

std::string usage_of(const Command& command) {
    return "gpushim " + std::string(command.name) + " " + command.arguments;
}

std::vector<ManualRow> rows_of(const Command& command) {
    std::vector<ManualRow> rows;
    for (const Option& option : command.options)
        rows.push_back({option_text(option), option.help, option.by_default});
    return rows;
}

std::vector<ManualSection> manual_sections() {
    return {
        {"variables", "Variables", "ENVIRONMENT", "variable",
         "Every setting is also an option of `gpushim run`: `GPUSHIM_MAX_MB=64` is `--max-mb 64`. `gpushim "
         "run` "
         "refuses a value that it does not understand and starts nothing (exit code 2). It warns of an "
         "unknown "
         "`GPUSHIM_…` name and prints the nearest known one. A plain preload prints one line for a wrong "
         "value "
         "and uses the default. It warns of unknown names when a trace begins.",
         variables()},
        {"exit-codes", "Exit codes", "EXIT STATUS", "code",
         "`gpushim run` passes on the program's exit code. If a signal ended the program, the same signal "
         "ends "
         "`gpushim run`.",
         kExitCodes},
        {"metrics", "Metrics", "METRICS", "metric",
         "What `GPUSHIM_METRICS` writes for Prometheus. All have the labels `host`, `rank`, `pid`, `job_id` "
         "and `pod` (`POD_NAME`), as far as they are known (Prometheus itself uses `job`). What is not known "
         "has no line.",
         metrics_of(MetricWriter::process)},
        {"watch-metrics", "Metrics of a run", "METRICS OF A RUN", "metric",
         "What `gpushim watch FOLDER --metrics FILE` writes for Prometheus. Those with the label `folder` "
         "are "
         "of the run, the others of one process: these have `host`, `rank`, `pid`, `job_id` and `pod`, as "
         "far "
         "as they are known. What is not known has no line: a process that is not running has its state, and "
         "no shares. Of a server both files have launches of graphs and waits; how its tokens come and what "
         "prefills take is not recorded there: that needs the whole trace, and is in reports and metrics of "
         "runs.",
         metrics_of(MetricWriter::watch)},
        {"files", "Files", "FILES", "file", "", kFiles},
        {"examples", "Examples", "EXAMPLES", "command", "", kExamples},
    };
}

}  // namespace gpushim::analysis
