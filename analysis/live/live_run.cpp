#include "live_run.h"

#include <signal.h>

#include <algorithm>
#include <tuple>

#include "../failure.h"
#include "../text/units.h"
#include "../trace/inputs.h"
#include "../trace/open_calls.h"

namespace gpushim::analysis {

namespace fs = std::filesystem;

namespace {

// Ranks write the rows of a slot's windows within about a second of each other.
constexpr int64_t kTogetherNs = 1'000'000'000;

std::set<fs::path> traced_now() {
    std::set<fs::path> all;
    for (const LiveTrace& live : live_traces()) all.insert(fs::weakly_canonical(live.trace));
    return all;
}

// What its threads have been in for longest.
std::string open_call_of(const fs::path& trace) {
    const std::vector<OpenCall> calls = open_calls_of(trace);
    const auto oldest =
        std::min_element(calls.begin(), calls.end(),
                         [](const OpenCall& a, const OpenCall& b) { return a.enter_ns < b.enter_ns; });
    return oldest == calls.end() ? "" : oldest->name;
}

}  // namespace

LiveRun::~LiveRun() {
    stop_ = true;
    if (reader_.joinable()) reader_.join();
}

RunNow LiveRun::look() {
    RunNow run;
    run.folder = folder_.string();
    const Moment now = this_moment();
    run.taken_real_ns = now.real_ns;
    find_traces(run);
    traces_.remove_if([&](FollowedTrace& trace) { return !trace.read(now); });
    choose_newest_run(run);
    const std::set<fs::path> traced = traced_now();
    const uint64_t window = newest_window();
    WindowBegins begins;
    for (FollowedTrace* trace : of_run_) {
        if (run.program.empty()) run.program = trace->program();
        if (trace->started_real_ns() > 0)
            run.started_real_ns = std::min(run.started_real_ns.value_or(INT64_MAX), trace->started_real_ns());
        if (trace->world_size()) run.ranks_expected = std::max(run.ranks_expected, trace->world_size());
        if (trace->newest_window_ns()) begins[trace->path()] = *trace->newest_window_ns();
        run.ranks.push_back(rank_of(*trace, now, traced));
    }
    if (begins != seen_) seen_since_ns_ = now.mono_ns;
    seen_ = std::move(begins);
    start_reading(now);
    std::sort(run.ranks.begin(), run.ranks.end(), [](const RankNow& a, const RankNow& b) {
        return std::tuple(!a.rank, a.rank, a.trace) < std::tuple(!b.rank, b.rank, b.trace);
    });
    const std::lock_guard guard(lock_);
    put_slowest(run, window);
    run.collectives = windows_.collectives;
    if (!why_no_windows_.empty()) run.notes.push_back("the newest windows: " + why_no_windows_);
    return run;
}

void LiveRun::find_traces(RunNow& run) {
    try {
        for (const fs::path& path : databases_in(folder_)) {
            const bool is_known =
                std::any_of(traces_.begin(), traces_.end(),
                            [&](const FollowedTrace& trace) { return trace.path() == path; });
            if (!is_known) traces_.emplace_back(path);
        }
    } catch (const Failure& failure) {
        run.notes.push_back(failure.what());
    }
}

// Files of which nobody knows whose they are are shown with it.
void LiveRun::choose_newest_run(RunNow& run) {
    std::map<std::string, int64_t> begins;
    for (const FollowedTrace& trace : traces_)
        if (!trace.run_key().empty())
            begins[trace.run_key()] = std::max(begins[trace.run_key()], trace.started_real_ns());
    const auto newest = std::max_element(begins.begin(), begins.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
    of_run_.clear();
    for (FollowedTrace& trace : traces_)
        if (newest == begins.end() || trace.run_key().empty() || trace.run_key() == newest->first)
            of_run_.push_back(&trace);
    if (begins.size() > 1)
        run.notes.push_back("the newest of " + count_text(static_cast<int64_t>(begins.size())) +
                            " runs in this folder");
    const auto here = static_cast<int64_t>(of_run_.size());
    std::optional<int64_t> expected;
    for (const FollowedTrace* trace : of_run_) expected = std::max(expected, trace->world_size());
    if (expected && here < *expected)
        run.notes.push_back(count_text(*expected - here) + " of " + count_text(*expected) +
                            " ranks have no trace in this folder");
}

RankNow LiveRun::rank_of(FollowedTrace& trace, const Moment& now, const std::set<fs::path>& traced) {
    std::error_code none;
    RankNow rank = trace.figures(now, traced.contains(fs::weakly_canonical(trace.path(), none)));
    if (rank.state == RankState::quiet || rank.state == RankState::silent)
        rank.open_call = open_call_of(trace.path());
    put_window(trace, now, rank);
    return rank;
}

void LiveRun::put_window(const FollowedTrace& trace, const Moment& now, RankNow& rank) {
    const std::lock_guard guard(lock_);
    const auto found = windows_.of.find(trace.path());
    const WindowOfTrace* const window = found == windows_.of.end() ? nullptr : &found->second;
    for (GpuNow& gpu : rank.gpus) {
        if (window != nullptr && window->gpus.contains(gpu.device_id)) {
            gpu.parts = window->gpus.at(gpu.device_id);
        } else {
            gpu.why_no_parts = window != nullptr && !window->why.empty() ? window->why
                               : trace.newest_window_ns()                ? "they are being read"
                                                          : "no window with device times is over yet";
        }
    }
    if (const auto course = courses_.find(trace.path()); course != courses_.end())
        course->second.put_around_change(rank);
    if (window == nullptr || window->gpus.empty()) return;
    rank.window_age_ns = trace.age_ns(window->span.end_ns, now);
    if (!rank.pace.median_ns && rank.pace.course_ns.empty() && window->found_step_ns) {
        rank.pace.median_ns = window->found_step_ns;
        rank.pace.steps = window->found_steps;
        rank.pace.is_marked = false;
    }
}

uint64_t LiveRun::newest_window() {
    const std::lock_guard guard(lock_);
    return windows_number_;
}

// Where another one came while its ranks were put down, it may be of both: the next look tells.
void LiveRun::put_slowest(RunNow& run, uint64_t window) {
    const auto slowest = slowest_of(run.ranks);
    if (window == windows_number_) slowest_.see(window, slowest ? run.ranks[*slowest].trace : "");
    if (looks_once_ || slowest_.is_agreed()) run.slowest = slowest;
}

void LiveRun::start_reading(const Moment& now) {
    if (is_reading_ || seen_.empty() || seen_ == read_ || now.mono_ns - seen_since_ns_ < kTogetherNs) return;
    if (reader_.joinable()) reader_.join();
    read_ = seen_;
    is_reading_ = true;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for who has the terminal
    reader_ = std::thread([this] { read_windows_of(read_); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void LiveRun::read_windows_of(WindowBegins begins) {
    std::vector<fs::path> paths;
    for (const auto& [path, begin_ns] : begins) paths.push_back(path);
    std::string why;
    try {
        NewestWindows windows = read_newest_windows(paths, stop_);
        const std::lock_guard guard(lock_);
        if (!stop_) {
            windows_ = std::move(windows);
            ++windows_number_;
        }
        keep_course();
    } catch (const std::exception& failure) {
        why = failure.what();
    }
    const std::lock_guard guard(lock_);
    why_no_windows_ = why;
    is_reading_ = false;
}

void LiveRun::keep_course() {
    std::erase_if(courses_, [&](const auto& course) { return !windows_.of.contains(course.first); });
    for (const auto& [path, window] : windows_.of)
        if (!window.gpus.empty()) courses_[path].add(window.span, window.gpus);
}

void LiveRun::wait_for_windows() {
    looks_once_ = true;
    if (reader_.joinable()) reader_.join();
    if (seen_.empty() || seen_ == read_) return;
    read_ = seen_;
    read_windows_of(read_);
}

}  // namespace gpushim::analysis
