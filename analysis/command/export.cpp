#include <cstdio>
#include <filesystem>
#include <set>

#include "../exporter/chrome_trace.h"
#include "../exporter/kept_rows.h"
#include "../exporter/merged_trace.h"
#include "../exporter/trace_rows.h"
#include "../failure.h"
#include "../run/pass/make_facts.h"
#include "../terminal/progress.h"
#include "../terminal/stderr_line.h"
#include "../trace/dropped_spans.h"
#include "../trace/recovery.h"
#include "command.h"
#include "report_options.h"
#include "run_source.h"

namespace gpushim::analysis::command_export {

namespace {

namespace fs = std::filesystem;

constexpr const char* kUsageText = "export what? gpushim export chrome RUN_OR_TRACES… [-o FILE.json.gz]";
// One for each rank, in the working directory, by a name that TensorBoard and HTA look for.
constexpr const char* kDefaultOutput = "gpushim.rank-%r.pt.trace.json.gz";
constexpr const char* kDefaultMerged = "gpushim.ranks.json.gz";

constexpr Option kOptions[] = {
    {"output", "FILE",
     "FILE.json or FILE.json.gz; for several ranks a folder, or a name with %r for the rank", 'o',
     "gpushim.rank-%r.pt.trace.json.gz"},
    {"merge", nullptr, "one file of all ranks, on one clock (default: gpushim.ranks.json.gz)"},
    {"step-marker", "NAME", "ranges with this name are the steps"},
    {"serving", nullptr, "the program serves a language model, whatever its kernels' names tell"},
    {"training", nullptr, "the program does not"},
};

// Where each process goes: one file, one for each rank (%r), or files in a folder.
class Places {
  public:
    Places(std::string output, size_t processes) : output_(std::move(output)) {
        is_folder_ = output_.ends_with('/') || fs::is_directory(output_);
        if (!is_folder_ && !output_.ends_with(".json") && !output_.ends_with(".gz"))
            throw Failure(output_ + ": the name must end in .json or .json.gz");
        if (!is_folder_ && processes > 1 && output_.find("%r") == std::string::npos)
            throw Failure(output_ + ": there are " + std::to_string(processes) +
                          " processes, and a file holds one: give a folder, or a name with %r");
        if (is_folder_) fs::create_directories(output_);
    }

    fs::path next(const std::optional<int64_t>& rank, int64_t pid) {
        const std::string id = rank ? std::to_string(*rank) : "p" + std::to_string(pid);
        std::string name = output_;
        if (is_folder_) name = (fs::path(output_) / ("rank-" + id + ".pt.trace.json.gz")).string();
        for (size_t at; (at = name.find("%r")) != std::string::npos;) name.replace(at, 2, id);
        std::string wanted = name;
        for (int again = 2; !taken_.insert(wanted).second; ++again) {
            const size_t end =
                name.rfind(".json") == std::string::npos ? name.rfind('.') : name.rfind(".json");
            wanted = name.substr(0, end) + "." + std::to_string(again) + name.substr(end);
        }
        return wanted;
    }

  private:
    std::string output_;
    bool is_folder_;
    std::set<std::string> taken_;
};

void say(const fs::path& place, const std::string& what, const ChromeCounts& counts) {
    std::printf("%s\n", place.c_str());
    stderr_line(place.string() + ": " + what + ", " + std::to_string(counts.operations) + " operations");
    if (counts.untimed > 0)
        stderr_line("of " + std::to_string(counts.untimed) +
                    " operations only the calls are in the file: they have no device times");
    if (counts.too_many > 0)
        stderr_line(std::to_string(counts.too_many) + " operations are left out: too many overlap");
}

bool has_own_steps(const Trace& trace) {
    if (trace.base.is_of_first_schema()) return false;
    Query own = trace.base.prepare(
        "SELECT EXISTS (SELECT 1 FROM marker m JOIN name n ON n.id = m.name_id"
        " WHERE m.kind IN ('push', 'range_start') AND n.text LIKE 'ProfilerStep#%')");
    return own.step() && own.number(0) != 0;
}

void add_steps(const Trace& trace, const RunOptions& options, ExportHead& head) {
    if (has_own_steps(trace)) return;
    const Progress finding("finding its steps");
    int64_t gpus = 0;
    TraceFacts facts = make_facts(trace, 0, gpus, options);
    find_steps(facts);
    if (facts.are_slices) return;
    // Where nothing tells the last one's end, it is none to draw.
    const bool is_open =
        facts.found.source == "gpushim_step" && !facts.steps.empty() && facts.steps.back().is_left_out;
    if (is_open) facts.steps.pop_back();
    for (const Step& step : facts.steps) head.steps.push_back({step.number, step.begin_ns, step.end_ns});
}

// What a program's calls did is known in these spans; outside of them only the calls are.
void add_windows(const Trace& trace, ChromeTrace& chrome) {
    if (trace.base.is_of_first_schema()) return;
    Query windows = trace.base.prepare(
        "SELECT enter_ns, device_id, dur_ns, operations, timed FROM \"window\" WHERE dur_ns > 0"
        " ORDER BY enter_ns, dur_ns DESC");
    while (windows.step())
        chrome.window(windows.number(1), windows.number(0), windows.number(2), windows.number(3),
                      windows.number(4));
}

void add_samples(const Trace& trace, ChromeTrace& chrome) {
    if (trace.base.is_of_first_schema()) return;
    Query samples = trace.base.prepare(
        "SELECT mono_ns, device_id, key, value FROM nvml WHERE value IS NOT NULL ORDER BY mono_ns");
    while (samples.step())
        chrome.sample(samples.number(0), samples.number(1), samples.text(2), samples.real(3));
}

ExportHead head_with_steps(const Trace& trace, const RunOptions& options) {
    ExportHead head = export_head(trace, *export_words(trace));
    add_steps(trace, options, head);
    return head;
}

ChromeCounts write_rows(const Trace& trace, ChromeTrace& chrome) {
    const Progress writing("exporting " + trace.label());
    if (Progress::is_shown()) Progress::expect(count_rows(trace.base));
    ProgressCount done;
    add_windows(trace, chrome);
    TraceRows rows(trace);
    for (ExportRow row; rows.next(row); ++done) chrome.add(row);
    add_samples(trace, chrome);
    return chrome.finish();
}

ChromeCounts write_trace(const Trace& trace, const RunOptions& options, const fs::path& place,
                         const std::string& what) {
    const ExportHead head = head_with_steps(trace, options);
    TextFile file(place);
    ChromeTrace chrome(file, head, what);
    const ChromeCounts counts = write_rows(trace, chrome);
    file.finish();
    return counts;
}

void export_trace(const Trace& trace, const RunOptions& options, const fs::path& place) {
    const std::string what = "everything that the trace of " + trace.label() + " has";
    say(place, what, write_trace(trace, options, place, what));
    if (!dropped_spans(trace).empty())
        stderr_line(trace.path.string() + ": for part of its time only totals are left");
}

int export_traces(const Arguments& arguments, std::span<const std::string> words, const std::string& output) {
    RunOptions options;
    read_program(arguments, options);
    const Recovery recovery(words);
    const Inputs inputs = open_traces(words, recovery);
    for (const std::string& note : inputs.notes) stderr_line(note);
    tell_few("left out ", inputs.refused);
    Places places(output, inputs.traces.size());
    for (const Trace& trace : inputs.traces) export_trace(trace, options, places.next(trace.rank, trace.pid));
    return inputs.refused.empty() && recovery.complete() ? kFine : kIncomplete;
}

std::vector<KeptRank> ranks_kept_in(const Database& run, const std::string& word) {
    std::vector<KeptRank> ranks = kept_ranks(run);
    if (ranks.empty())
        throw Failure(word +
                          ": it has no kept steps (the run has no steps, or an older gpushim analysed it); "
                          "export its traces instead",
                      kIncomplete);
    return ranks;
}

ChromeCounts write_rows(const Database& run, const KeptRank& rank, ChromeTrace& chrome) {
    KeptRows rows(run, rank.rank_id);
    for (ExportRow row; rows.next(row);) chrome.add(row);
    return chrome.finish();
}

void tell_left_out(const KeptRank& rank) {
    if (rank.left_out > 0) stderr_line(std::to_string(rank.left_out) + " rows of these steps were not kept");
}

int export_run(const Database& run, const std::string& word, const std::string& output) {
    const std::vector<KeptRank> ranks = ranks_kept_in(run, word);
    Places places(output, ranks.size());
    for (const KeptRank& rank : ranks) {
        const ExportHead head = kept_head(run, rank.rank_id);
        const fs::path place = places.next(rank.rank, rank.pid);
        const std::string what = "of the whole run only " + rank.steps;
        TextFile file(place);
        ChromeTrace chrome(file, head, what);
        const ChromeCounts counts = write_rows(run, rank, chrome);
        file.finish();
        say(place, what, counts);
        tell_left_out(rank);
    }
    return kFine;
}

ChromeCounts sum_of(const ChromeCounts& a, const ChromeCounts& b) {
    return {a.rows + b.rows, a.operations + b.operations, a.untimed + b.untimed, a.too_many + b.too_many,
            a.unfinished + b.unfinished};
}

fs::path merged_place(const Arguments& arguments) {
    std::string place = arguments.value("output").value_or(kDefaultMerged);
    if (!place.ends_with(".json") && !place.ends_with(".gz"))
        throw Failure(place + ": with --merge all go into one file, whose name ends in .json or .json.gz");
    return place;
}

// write(i, chrome): all rows of the i-th process, and its end.
template <class Write>
void merge(const fs::path& place, std::span<const ExportHead> heads, const Database& run,
           const std::string& what, Write&& write) {
    const SharedClock clock = shared_clock(heads, run);
    TextFile file(place);
    ChromePart part = begin_merged(file, clock, heads.size(), what);
    ChromeCounts counts;
    for (size_t i = 0; i < heads.size(); ++i) {
        ChromeTrace chrome(file, heads[i], part);
        counts = sum_of(counts, write(i, chrome));
        if (i + 1 < heads.size()) part = chrome.next(clock.shift_ns[i + 1]);
    }
    write_end(file, counts);
    file.finish();
    say(place, what, counts);
    for (const std::string& host : clock.by_wall_clock)
        stderr_line(host +
                    ": no collective tells its clock beside the others'; its times are by its wall clock");
}

int merge_traces(const Arguments& arguments, std::span<const std::string> words) {
    const fs::path place = merged_place(arguments);
    RunOptions options;
    read_program(arguments, options);
    // The run knows how the clocks of its hosts stand to each other.
    const RunSource source = open_run({words.begin(), words.end()}, options, std::nullopt);
    if (!source.traces) throw Failure("--merge takes traces, or a run database alone");
    const std::vector<Trace>& traces = source.traces->traces;
    std::vector<ExportHead> heads;
    for (const Trace& trace : traces) heads.push_back(head_with_steps(trace, options));
    merge(place, heads, source.run,
          "everything that the traces of " + std::to_string(traces.size()) + " processes have",
          [&](size_t i, ChromeTrace& chrome) { return write_rows(traces[i], chrome); });
    return source.complete() ? kFine : kIncomplete;
}

int merge_run(const Database& run, const std::string& word, const fs::path& place) {
    const std::vector<KeptRank> ranks = ranks_kept_in(run, word);
    std::vector<ExportHead> heads;
    for (const KeptRank& rank : ranks) heads.push_back(kept_head(run, rank.rank_id));
    merge(place, heads, run, "of the whole run only the typical and the worst step of each process",
          [&](size_t i, ChromeTrace& chrome) { return write_rows(run, ranks[i], chrome); });
    for (const KeptRank& rank : ranks) tell_left_out(rank);
    return kFine;
}

int run(const Arguments& arguments) {
    const std::span words(arguments.words_);
    const std::string output = arguments.value("output").value_or(kDefaultOutput);
    if (words.size() < 2 || words[0] != "chrome") throw Failure(kUsageText);
    const bool is_one = arguments.has("merge");
    if (const auto base = run_given({words.begin() + 1, words.end()}))
        return is_one ? merge_run(*base, words[1], merged_place(arguments))
                      : export_run(*base, words[1], output);
    if (is_one) return merge_traces(arguments, words.subspan(1));
    return export_traces(arguments, words.subspan(1), output);
}

constexpr Command kExport = {"export",
                             "chrome RUN_OR_TRACES… [-o FILE]",
                             "write a timeline that the Perfetto UI, TensorBoard and HTA open",
                             "",
                             -1,
                             kOptions,
                             run};
const Registration kRegistration(kExport);

}  // namespace

}  // namespace gpushim::analysis::command_export
