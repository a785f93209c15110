// Follows the traces of a job that runs, until it hangs or has ended; with --metrics until it has ended.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "../failure.h"
#include "../live/live_run.h"
#include "../process/threads.h"
#include "../report/hang_ends.h"
#include "../report/hang_text.h"
#include "../screen/run_metrics.h"
#include "../text/escape.h"
#include "../text/units.h"
#include "../trace/inputs.h"
#include "../trace/open_calls.h"
#include "../trace/recovery.h"
#include "command.h"
#include "metrics_file.h"

namespace gpushim::analysis::command_watch {

namespace fs = std::filesystem;

namespace {

constexpr double kMostS = 1e9;
constexpr int kMostFailures = 10;
constexpr timespec kBetween = {1, 0};
constexpr int64_t kNewsNs = 3'000'000'000;  // NVML is asked each second

constexpr Option kOptions[] = {
    {"after", "SECONDS", "a job hangs that has not moved for so long, while a rank is inside a call", 0,
     "300"},
    {"once", nullptr, "look once instead of until something happens"},
    {"json", nullptr, "print one JSON object"},
    {"metrics", "FILE",
     "keep a file for Prometheus while the job runs, and go on when it hangs; the file goes with `watch`", 0,
     "none"},
    {"metrics-mode", "MODE", "who may read it, in octal digits: 640, 644", 0, "600"},
};

int64_t after_ns(const Arguments& arguments) {
    const std::string text = arguments.value("after").value_or("300");
    char* end = nullptr;
    const double seconds = std::strtod(text.c_str(), &end);
    if (end == text.c_str() || *end != '\0' || !(seconds > 0 && seconds < kMostS))
        throw Failure("--after " + text + ": a number of seconds was expected");
    return static_cast<int64_t>(seconds * 1e9);
}

// What this machine tells of a process beyond its trace: one that runs and has nothing to write is not
// silent.
void look_at_process(LastSeen& rank, const std::vector<LiveTrace>& live) {
    std::error_code none;
    const auto place = std::find_if(live.begin(), live.end(), [&](const LiveTrace& one) {
        return one.pid == rank.pid && fs::equivalent(one.trace, rank.trace, none);
    });
    const std::vector<ThreadNow> threads = threads_of(rank.pid);
    if (place == live.end()) {
        // In a container processes have other numbers: whose trace grows is not gone.
        const bool has_news = this_moment().mono_ns - rank.alive_ns < kNewsNs;
        if (threads.empty() && !has_news) rank.process = ProcessNow::gone;
        return;
    }
    const bool is_stopped = std::all_of(threads.begin(), threads.end(),
                                        [](const ThreadNow& thread) { return thread.state == "stopped"; });
    rank.process = is_stopped ? ProcessNow::stopped : ProcessNow::runs;
    if (!is_stopped) rank.alive_ns = std::max(rank.alive_ns, this_moment().mono_ns);
}

struct Look {
    size_t traces = 0, running = 0;
    std::vector<std::string> died;  // ranks whose processes have left no word
    std::optional<Hang> hang;
};

Look look(const std::string& folder, int64_t least_ns) {
    const std::vector<std::string> words = {folder};
    const Recovery recovery(words);
    const Inputs inputs = open_traces(words, recovery);
    auto ranks = ends_of(inputs.traces);
    if (!ranks)
        throw Failure(folder + ": its traces do not say how they ended: imported, or of an older version");
    const std::vector<LiveTrace> live = live_traces();
    const std::string clock = this_moment().boot_id;
    Look seen;
    seen.traces = ranks->size();
    for (LastSeen& rank : *ranks) {
        if (rank.clock == clock && !rank.has_ended) look_at_process(rank, live);
        seen.running += !rank.has_ended && rank.process != ProcessNow::gone;
        if (!rank.has_ended && rank.process == ProcessNow::gone) seen.died.push_back(rank.label);
    }
    seen.hang = judge(*ranks, {}, least_ns);
    return seen;
}

// The first few of them.
std::string died_text(const std::vector<std::string>& died) {
    constexpr size_t kShown = 8;
    std::string text;
    for (size_t i = 0; i < std::min(died.size(), kShown); ++i)
        text += (i == 0 ? "; died: " : ", ") + for_terminal(died[i]);
    if (died.size() > kShown)
        text += " and " + count_text(static_cast<int64_t>(died.size() - kShown)) + " more";
    return text;
}

void print(const Look& seen, bool as_json, const std::string& when = "") {
    if (as_json) {
        Json answer = Json::object();
        answer.set("unix_ns", this_moment().real_ns);
        answer.set("hang", hang_json(seen.hang, true));
        answer.set("traces", static_cast<int64_t>(seen.traces));
        answer.set("running", static_cast<int64_t>(seen.running));
        Json died = Json::array();
        for (const std::string& label : seen.died) died.push(label);
        answer.set("died", died);
        std::printf("%s\n", answer.text().c_str());
    } else if (seen.hang) {
        const std::vector<std::string> lines = hang_lines(*seen.hang);
        for (size_t i = 0; i < lines.size(); ++i)
            std::printf("%s%s%s\n", i == 0 ? "HUNG     " : "         ", lines[i].c_str(),
                        i == 0 ? when.c_str() : "");
    } else {
        std::printf("%s    %s of %s processes at work%s%s\n", seen.running > 0 ? "MOVES" : "ENDED",
                    count_text(static_cast<int64_t>(seen.running)).c_str(),
                    count_text(static_cast<int64_t>(seen.traces)).c_str(), died_text(seen.died).c_str(),
                    when.c_str());
    }
    std::fflush(stdout);
}

// None: there are no traces yet, or one is being begun or goes at this moment. What lasts is a failure.
std::optional<Look> try_to_look(const std::string& folder, int64_t least_ns, int& failed) {
    try {
        if (databases_in(folder).empty()) return {};
        const Look seen = look(folder, least_ns);
        failed = 0;
        return seen;
    } catch (const Failure&) {
        if (++failed == kMostFailures) throw;
        return {};
    }
}

Look follow(const std::string& folder, int64_t least_ns) {
    for (int failed = 0;; nanosleep(&kBetween, nullptr))
        if (const auto seen = try_to_look(folder, least_ns, failed);
            seen && (seen->hang || seen->running == 0))
            return *seen;
}

HangNow hang_now(const Look& seen) {
    HangNow now;
    now.is_hung = seen.hang.has_value();
    if (seen.hang)
        for (const HungRank& rank : seen.hang->missing)
            if (rank.rank) now.missing.insert(*rank.rank);
    if (seen.hang) now.absent = seen.hang->absent;
    return now;
}

// Says when it hangs, when it moves again, and when it has ended; each with the time. Whether it hung at any
// time.
bool follow_with_metrics(const std::string& folder, int64_t least_ns, MetricsFile& file, bool as_json) {
    LiveRun live(fs::canonical(folder));  // series have it as a label
    bool hangs = false, has_hung = false;
    for (int failed = 0;; nanosleep(&kBetween, nullptr)) {
        const auto seen = try_to_look(folder, least_ns, failed);
        file.write(run_metrics(live.look(), seen ? std::optional(hang_now(*seen)) : std::nullopt));
        if (!seen) continue;
        const bool has_ended = seen->running == 0;
        const bool is_news = seen->hang.has_value() != hangs || (has_ended && !hangs);
        if (is_news) print(*seen, as_json, "  (" + time_text(this_moment().real_ns) + ")");
        hangs = seen->hang.has_value();  // it may last to the end
        has_hung |= hangs;
        if (has_ended) return has_hung;
    }
}

void write_once(const std::string& folder, const Look& seen, MetricsFile& file) {
    LiveRun live(fs::canonical(folder));  // series have it as a label
    live.look();
    live.wait_for_windows();
    file.write_for_good(run_metrics(live.look(), hang_now(seen)));
}

int run(const Arguments& arguments) {
    if (arguments.words_.size() != 1) throw Failure("which folder? gpushim watch FOLDER");
    if (!fs::is_directory(arguments.words_[0])) throw Failure(arguments.words_[0] + ": not a folder");
    const std::string folder = arguments.words_[0];
    const int64_t least_ns = after_ns(arguments);
    const bool is_once = arguments.has("once"), as_json = arguments.has("json");
    const mode_t mode = mode_of(arguments.value("metrics-mode").value_or("600"));
    std::optional<MetricsFile> file;
    if (const auto place = arguments.value("metrics")) file.emplace(*place, mode);
    if (file && !is_once) return follow_with_metrics(folder, least_ns, *file, as_json) ? kHung : kFine;
    const Look seen = is_once ? look(folder, least_ns) : follow(folder, least_ns);
    if (file) write_once(folder, seen, *file);
    print(seen, as_json);
    return seen.hang ? kHung : kFine;
}

constexpr Command kWatch = {
    "watch",
    "FOLDER",
    "follow the traces of a job that runs, and say which rank is missing when it hangs",
    "It waits until there are traces, and ends when all their processes have ended, or with exit code 1 when "
    "the job hangs. With `--metrics` it says that the job hangs, and goes on until the processes have ended. "
    "It reads only: the job is not touched.",
    -1,
    kOptions,
    run};
const Registration kRegistration(kWatch);

}  // namespace

}  // namespace gpushim::analysis::command_watch
