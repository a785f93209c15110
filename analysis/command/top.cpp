// `gpushim top`: a run while it runs, on a terminal, or one look at it as text or JSON.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <signal.h>
#include <unistd.h>

#include "../failure.h"
#include "../live/live_run.h"
#include "../process/threads.h"
#include "../screen/top_json.h"
#include "../screen/top_screen.h"
#include "../terminal/full_screen.h"
#include "../terminal/terminal.h"
#include "../text/names.h"
#include "../trace/open_calls.h"
#include "command.h"
#include "doctor_pid.h"

namespace gpushim::analysis::command_top {

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

constexpr Option kOptions[] = {
    {"once", nullptr, "print one look and end; without a terminal it is always so"},
    {"json", nullptr, "the same as one JSON object, whose keys do not change"},
    {"sort", "COLUMN", "rank, step, compute, waiting, idle, own, memory, power or news", 's', "rank"},
    {"view", "VIEW", "parts, idle, device or grid", 'v', "parts; grid, if the ranks have no room"},
    {"interval", "SECONDS", "time between two looks, from 0.1 to 60", 'i', "1"},
};

// A process may be a launcher: then it is its children that write traces.
fs::path folder_of_process(int64_t pid) {
    for (const int64_t member : family_of(pid))
        for (const LiveTrace& live : live_traces())
            if (live.pid == member) return live.trace.parent_path();
    throw Failure(why_not_traced(pid));
}

fs::path folder_asked(const Arguments& arguments) {
    if (arguments.words_.size() > 1) throw Failure("one folder or process: gpushim top [FOLDER|PID]");
    if (arguments.words_.empty()) return ".";
    const std::string& word = arguments.words_[0];
    if (fs::is_directory(word)) return word;
    int64_t pid = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), pid);
    if (error == std::errc() && end == word.data() + word.size() && pid > 0) return folder_of_process(pid);
    if (fs::exists(word)) {  // a trace: of its folder
        const fs::path folder = fs::path(word).parent_path();
        return folder.empty() ? fs::path(".") : folder;
    }
    throw Failure(word + ": neither a folder nor a process");
}

double interval_asked(const Arguments& arguments) {
    const std::string text = arguments.value("interval").value_or("1");
    char* end = nullptr;
    const double seconds = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !(seconds >= 0.1 && seconds <= 60))
        throw Failure("--interval " + text + ": seconds from 0.1 to 60 were expected");
    return seconds;
}

TopState state_asked(const Arguments& arguments) {
    TopState state;
    if (const auto text = arguments.value("sort")) {
        const auto order = order_named(*text);
        if (!order) throw Failure("--sort " + *text + ": no such column" + perhaps(*text, order_names()));
        state.order = *order;
    }
    if (const auto text = arguments.value("view")) {
        state.view = view_named(*text);
        if (!state.view) throw Failure("--view " + *text + ": parts, idle, device or grid were expected");
    }
    return state;
}

bool has_wide_letters() {
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        const char* const value = std::getenv(name);
        if (value == nullptr || *value == '\0') continue;
        const std::string text = value;
        return text.find("UTF-8") != std::string::npos || text.find("utf8") != std::string::npos;
    }
    return false;
}

int look_once(LiveRun& live, TopState state, bool as_json) {
    if (live.look().ranks.empty())
        throw Failure(
            "no trace to follow; `gpushim run -- PROGRAM` makes one, `gpushim doctor` says why there is "
            "none");
    live.wait_for_windows();
    const RunNow run = live.look();
    if (as_json) {
        std::printf("%s\n", top_json(run).text().c_str());
    } else {
        constexpr size_t kTitle = 6, kWidth = 120;  // of nobody's terminal
        size_t rows = kTitle;
        for (const RankNow& rank : run.ranks) rows += std::max<size_t>(1, rank.gpus.size());
        const size_t columns = is_terminal(STDOUT_FILENO) ? columns_of(STDOUT_FILENO) : kWidth;
        if (!state.view) state.view = TopView::parts;
        Grid grid = draw_top(run, state, rows, columns, {has_wide_letters(), false});
        std::fputs(grid.text().c_str(), stdout);
    }
    const bool is_whole = std::none_of(run.ranks.begin(), run.ranks.end(), [](const RankNow& rank) {
        return rank.state == RankState::unreadable;
    });
    return is_whole ? kFine : kIncomplete;
}

// A look that takes long is followed by a longer pause, so this never takes more than a fifth of a core.
Clock::duration pause_after(Clock::duration look, double seconds) {
    const auto asked = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    return std::max(asked, 4 * look);
}

// The signal that ended it; 0: a key did, or the terminal has gone.
int follow(LiveRun& live, TopState state, double seconds, FullScreen& screen) {
    const bool has_colour = has_colours(STDOUT_FILENO);
    RunNow run;
    Clock::time_point next = Clock::now();
    while (!state.has_ended && !screen.has_ended()) {
        const Clock::time_point begin = Clock::now();
        if (begin >= next && !state.is_paused) {
            run = live.look();
            next = begin + pause_after(Clock::now() - begin, seconds);
        }
        const auto [rows, columns] = screen.size();
        screen.show(draw_top(run, state, rows, columns, {has_wide_letters(), true}).escapes(has_colour));
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(next - Clock::now()).count();
        const int wait_ms = state.is_paused ? -1 : static_cast<int>(std::clamp<int64_t>(left + 1, 1, 60'000));
        state.press(screen.wait_for_keys(wait_ms), page_of(rows));
    }
    return screen.ended_by();
}

int run(const Arguments& arguments) {
    const double seconds = interval_asked(arguments);
    const TopState state = state_asked(arguments);
    const bool as_json = arguments.has("json"), is_once = as_json || arguments.has("once");
    const fs::path folder = folder_asked(arguments);
    int ended_by = 0;
    {
        LiveRun live(folder);
        if (is_once || !can_fill_screen()) return look_once(live, state, as_json);
        FullScreen screen;
        ended_by = follow(live, state, seconds, screen);
    }
    if (ended_by != 0) raise(ended_by);  // the terminal is as it was, and nothing is left behind
    return kFine;
}

constexpr Command kTop = {
    "top",
    "[FOLDER|PID]",
    "show a run while it runs: steps, GPUs, causes of idle time, cost",
    "Follows the newest run in a folder (.), or the one that a process belongs to. Nothing of it is touched: "
    "traces are read while they are written. `?` shows the keys and what the columns mean.",
    -1,
    kOptions,
    run};
const Registration kRegistration(kTop);

}  // namespace

}  // namespace gpushim::analysis::command_top
