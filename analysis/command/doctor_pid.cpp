#include "doctor_pid.h"

#include <time.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "../failure.h"
#include "../process/library.h"
#include "../process/threads.h"
#include "../report/hang_text.h"
#include "../text/escape.h"
#include "../text/units.h"
#include "../trace/open_calls.h"
#include "command.h"
#include "run_source.h"

namespace gpushim::analysis {

namespace fs = std::filesystem;

namespace {

constexpr size_t kMostThreads = 8;
constexpr const char* kOurs = "gpushim";  // names of our own threads begin so

// The clock of the calls; on the simulated box's own clock ages are not known.
int64_t now_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

struct Seen {
    int64_t pid;
    fs::path trace;
    int64_t at_ns;  // the moment that all of this is of
    std::vector<ThreadNow> threads;
    std::map<int64_t, OpenCall> calls;  // by thread
};

std::vector<Seen> traced_among(const std::vector<int64_t>& family) {
    std::vector<Seen> all;
    for (const LiveTrace& live : live_traces()) {
        if (std::find(family.begin(), family.end(), live.pid) == family.end()) continue;
        Seen seen = {live.pid, live.trace, now_ns(), threads_of(live.pid), {}};
        std::erase_if(seen.threads, [](const ThreadNow& thread) { return thread.name.starts_with(kOurs); });
        for (OpenCall& call : open_calls_of(live.trace)) seen.calls.insert({call.tid, std::move(call)});
        all.push_back(std::move(seen));
    }
    return all;
}

// Of a run that is still at work an analysis is of what was written until now.
struct RunNow {
    std::optional<Hang> hang;
    std::optional<int64_t> step_ns;
    std::string why_unknown;
};

RunNow judge_run(const std::vector<Seen>& seen) {
    const TemporaryFolder folder;
    try {
        const RunSource source =
            open_run({seen.front().trace.parent_path().string()}, {}, folder.path() / "run.db");
        const ReportSource asked = {source.run, &*source.traces};
        Query step = source.run.prepare(
            "SELECT value FROM metric WHERE scope = 'run' AND name = 'step_median_ns' AND value > 0");
        return {hang_of(asked), step.step() ? step.maybe(0) : std::nullopt, ""};
    } catch (const Failure& failure) {
        return {{}, {}, failure.what()};
    }
}

std::string call_text(const OpenCall& call, int64_t now) {
    const std::string inside = "in " + for_terminal(call.name);
    return call.enter_ns > now ? inside
                               : inside + " for " + duration_text(static_cast<double>(now - call.enter_ns));
}

void print_threads(const Seen& seen) {
    size_t shown = 0;
    for (const ThreadNow& thread : seen.threads) {
        const auto call = seen.calls.find(thread.tid);
        if (call == seen.calls.end() && thread.tid != seen.pid) continue;
        if (++shown > kMostThreads) break;
        std::printf(
            "thread   %lld %s: %s%s%s\n", static_cast<long long>(thread.tid),
            for_terminal(thread.name).c_str(), thread.state.c_str(),
            thread.blocked_in.empty() ? "" : (" in the kernel's " + for_terminal(thread.blocked_in)).c_str(),
            call == seen.calls.end() ? "; in no call of CUDA or NCCL"
                                     : ("; " + call_text(call->second, seen.at_ns)).c_str());
    }
}

void print_text(const std::vector<Seen>& all, const RunNow& verdict) {
    std::string label = "HUNG     ";
    if (verdict.hang) {
        for (const std::string& line : hang_lines(*verdict.hang)) {
            std::printf("%s%s\n", label.c_str(), line.c_str());
            label = "         ";
        }
    } else if (!verdict.why_unknown.empty()) {
        std::printf("UNKNOWN  %s\n", for_terminal(verdict.why_unknown).c_str());
    } else {
        std::printf("MOVES    %s\n",
                    verdict.step_ns
                        ? ("usual step " + duration_text(static_cast<double>(*verdict.step_ns))).c_str()
                        : "no steps found until now");
    }
    for (const Seen& seen : all) {
        std::printf("process  %lld %s\n         writes %s\n", static_cast<long long>(seen.pid),
                    for_terminal(command_of(seen.pid)).c_str(), for_terminal(seen.trace.string()).c_str());
        print_threads(seen);
    }
}

Json json_of(const Seen& seen) {
    Json threads = Json::array();
    for (const ThreadNow& thread : seen.threads) {
        const auto call = seen.calls.find(thread.tid);
        const bool is_inside = call != seen.calls.end();
        threads.push(
            Json::object({{"tid", thread.tid},
                          {"name", thread.name},
                          {"state", thread.state},
                          {"blocked_in", thread.blocked_in.empty() ? Json() : Json(thread.blocked_in)},
                          {"call", is_inside ? Json(call->second.name) : Json()},
                          {"call_for_ns", is_inside && call->second.enter_ns <= seen.at_ns
                                              ? Json(seen.at_ns - call->second.enter_ns)
                                              : Json()}}));
    }
    return Json::object({{"pid", seen.pid},
                         {"command", command_of(seen.pid)},
                         {"trace", seen.trace.string()},
                         {"threads", std::move(threads)}});
}

void print_json(const std::vector<Seen>& all, const RunNow& verdict) {
    Json processes = Json::array();
    for (const Seen& seen : all) processes.push(json_of(seen));
    Json answer = Json::object();
    answer.set("hang", hang_json(verdict.hang, verdict.why_unknown.empty()));
    answer.set("step_median_ns", verdict.step_ns ? Json(*verdict.step_ns) : Json());
    answer.set("processes", std::move(processes));
    std::printf("%s\n", answer.text().c_str());
}

}  // namespace

std::string why_not_traced(int64_t pid) {
    const std::string process = "process " + std::to_string(pid);
    if (threads_of(pid).empty()) return process + ": there is none";
    if (command_of(pid).empty()) return process + " is another user's, or of the kernel";
    if (!has_mapped(pid, library_path().filename().string()))
        return process + " runs without the library: start it with `gpushim run`, or with LD_PRELOAD";
    return process +
           " writes no trace: it has made no CUDA context and no NCCL communicator yet, or its rings are "
           "private"
           " (GPUSHIM_LOG=info says so at its end)";
}

int look_at_process(const std::string& word, bool as_json) {
    int64_t pid = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), pid);
    if (error != std::errc() || end != word.data() + word.size() || pid <= 0)
        throw Failure("--pid " + word + ": the number of a process was expected");
    const std::vector<int64_t> family = family_of(pid);
    std::vector<Seen> all = traced_among(family);
    if (all.empty()) throw Failure(why_not_traced(pid));
    const RunNow verdict = judge_run(all);
    // The analysis may take seconds: what threads are in is told of the verdict's time, if they live then.
    if (std::vector<Seen> later = traced_among(family); !later.empty()) all = std::move(later);
    as_json ? print_json(all, verdict) : print_text(all, verdict);
    return verdict.hang ? kHung : verdict.why_unknown.empty() ? kFine : kIncomplete;
}

}  // namespace gpushim::analysis
