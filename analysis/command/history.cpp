// `gpushim history`: nights of a job beside each other. add judges runs that came, keeps what is asked of
// them later, and says what there is to say tonight; show only says it; accept makes a night the new normal.
#include <algorithm>
#include <cstdio>
#include <ctime>

#include "../exporter/text_file.h"
#include "../failure.h"
#include "../history/arrival.h"
#include "../history/judge.h"
#include "../history/nightly_page.h"
#include "../history/nightly_report.h"
#include "../process/temporary.h"
#include "../report/printed.h"
#include "../terminal/progress.h"
#include "../terminal/stderr_line.h"
#include "command.h"
#include "report_options.h"
#include "run_source.h"
#include "run_summaries.h"
#include "threshold.h"

namespace gpushim::analysis::command_history {

namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kForgottenAfter = 10;  // times max-age: such a series has ended

constexpr Option kOptions[] = {
    {"threshold", "SHARE", "a smaller change counts as none", 0, "3%"},
    {"nights", "N", "nights that show the noise, and that are printed", 0, "14"},
    {"keep", "N", "add: nights that stay in the file", 0, "400"},
    {"tags", "KEY,KEY", "add: tags that tell jobs apart", 0, "model"},
    {"samples-per-step", "N", "add: samples in a step of all ranks together"},
    {"params", "N", "add: number of parameters of the model"},
    {"bandwidth", "300GB/s", "add: bandwidth that AllReduce should reach"},
    {"max-age", "HOURS", "a night is missing if the newest is older than this", 0, "no limit"},
    {"output", "FOLDER", "also write nightly.md, .json, .html and .junit.xml there"},
    {"json", nullptr, "print one JSON object, whose keys do not change"},
    {"markdown", nullptr, "print Markdown"},
};

int64_t number_of(const Arguments& arguments, const char* option, int64_t otherwise) {
    const auto text = arguments.value(option);
    if (text == "0") return 0;
    return text ? count_from(option, *text) : otherwise;
}

std::vector<std::string> tags_asked(const Arguments& arguments) {
    std::vector<std::string> tags;
    const std::string text = arguments.value("tags").value_or("model");
    for (size_t from = 0; from <= text.size();) {
        const size_t end = std::min(text.find(',', from), text.size());
        if (end > from) tags.push_back(text.substr(from, end - from));
        from = end + 1;
    }
    return tags;
}

JudgeOptions judge_options(const Arguments& arguments) {
    return {threshold_from(arguments),
            static_cast<size_t>(std::max<int64_t>(1, number_of(arguments, "nights", 14)))};
}

// The night that has any of these traces; null: they are new.
const Night* known(const History& history, const std::vector<Night>& nights, const Arrival& arrival) {
    for (const Night& night : nights)
        for (const std::string& trace : history.traces(night.id))
            if (arrival.traces.contains(trace)) return &night;
    return nullptr;
}

Side read_arrival(const Arguments& arguments, const Arrival& arrival) {
    const ReportOptions asked = report_options(arguments);
    const TemporaryFolder folder;  // nothing is left beside the traces
    const RunSource source = open_run({arrival.word}, run_options(arguments), folder.path() / "night.run.db");
    Side side = read_side(source.run, name_of(arrival.word),
                          {asked.params, asked.samples_per_step, asked.bandwidth_bytes_per_s});
    side.is_whole = side.is_whole && source.complete();
    return side;
}

// Judges it by the nights before it, and keeps it.
Night add_night(History& history, const Arguments& arguments, const Arrival& arrival) {
    const Side side = read_arrival(arguments, arrival);
    history.begin();
    const std::vector<Night> nights = history.nights();
    if (const Night* replaced = known(history, nights, arrival)) history.remove(replaced->id);
    Night night;
    night.name = side.name;
    night.started_real_ns = side.started_real_ns;
    night.series = series_of(side, tags_asked(arguments));
    night.place = place_of(side);
    night.samples_per_step = side.samples_per_step;
    std::vector<Night> before = history.nights();
    std::erase_if(before, [&](const Night& one) {
        return one.series != night.series || one.started_real_ns >= night.started_real_ns;
    });
    judge(
        night, side, before, [&](int64_t id) { return history.side(id); }, judge_options(arguments));
    night.id = history.add(night, side);
    history.prune(static_cast<size_t>(std::max<int64_t>(1, number_of(arguments, "keep", 400))));
    history.keep();
    return night;
}

struct Added {
    int64_t judged = 0;
    std::vector<std::string> notes;  // of runs that could not be judged
};

void add_one(History& history, const Arguments& arguments, const Arrival& arrival, Added& added) {
    const std::vector<Night> nights = history.nights();
    const Night* const night = known(history, nights, arrival);
    // What nobody has touched since the newest night is not last night's: it is told, and decides nothing.
    const bool is_old = !nights.empty() && arrival.changed_real_ns < nights.back().started_real_ns;
    const auto note = [&](const std::string& text) {
        is_old ? stderr_line(text) : added.notes.push_back(text);
    };
    if (!arrival.why_empty.empty()) {
        note(arrival.why_empty);
    } else if (!arrival.still_writing.empty()) {
        note(name_of(arrival.word) + " is not judged yet: " + arrival.still_writing +
             " is still being written");
    } else if (night == nullptr || history.traces(night->id) != arrival.traces) {
        const Night judged = add_night(history, arguments, arrival);
        stderr_line(judged.name + ": " + name_of(judged.result));
        ++added.judged;
    }
}

// In the order of their begin, so that each is judged by those before it.
Added add_all(History& history, const Arguments& arguments) {
    std::vector<Arrival> arrivals;
    for (size_t i = 2; i < arguments.words_.size(); ++i) arrivals.push_back(look_at(arguments.words_[i]));
    std::stable_sort(arrivals.begin(), arrivals.end(), [](const Arrival& a, const Arrival& b) {
        return a.started_real_ns < b.started_real_ns;
    });
    Added added;
    for (size_t i = 0; i < arrivals.size(); ++i) {
        const Progress judging(nth_of("night", i, arrivals.size()));
        add_one(history, arguments, arrivals[i], added);
    }
    if (arrivals.empty()) added.notes.push_back("last night is missing: there are no traces of it");
    return added;
}

void write_file(const std::optional<std::string>& place, const std::string& text) {
    if (!place) return;
    TextFile file(*place);
    file.write(text);
    file.finish();
}

std::string lines_of(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
}

NightlyOptions nightly_options(const Arguments& arguments) {
    const JudgeOptions asked = judge_options(arguments);
    NightlyOptions options{asked.threshold, asked.nights, {}, {}, {}};
    const int64_t now_s = std::time(nullptr), hours = number_of(arguments, "max-age", 0);
    if (hours > 0) {
        options.oldest_ns = (now_s - hours * 3600) * kSecond;
        options.forgotten_ns = (now_s - kForgottenAfter * hours * 3600) * kSecond;
    }
    return options;
}

// Says what there is to say, and writes it to the files that were asked for.
int tell_night(const Arguments& arguments, const History& history, const NightlyOptions& options) {
    const std::vector<Tonight> all = tonight(history, options);
    Report report;
    write_nightly(history, all, options, report);
    const std::string json = report.json.text() + "\n", markdown = lines_of(as_markdown(report));
    const auto output = arguments.value("output");
    const auto place = [&](const char* name) {
        return output ? std::optional(*output + "/nightly." + name) : std::nullopt;
    };
    write_file(place("md"), markdown);
    write_file(place("json"), json);
    write_file(place("html"), nightly_page(history, all, options));
    write_file(place("junit.xml"), nightly_junit(history, all, options));
    const std::string shown = arguments.has("json")       ? json
                              : arguments.has("markdown") ? markdown
                                                          : lines_of(as_printed(report));
    std::fputs(shown.c_str(), stdout);
    return outcome_of(all, options);
}

int add(const Arguments& arguments, const std::string& place) {
    NightlyOptions options = nightly_options(arguments);  // first: what is wrong in it changes nothing
    History history(place, History::Open::kWrite);
    const Added added = add_all(history, arguments);
    options.judged_now = added.judged;
    options.notes = added.notes;
    return tell_night(arguments, history, options);
}

int show(const Arguments& arguments, const std::string& place) {
    return tell_night(arguments, History(place, History::Open::kRead), nightly_options(arguments));
}

int accept(const Arguments& arguments, const std::string& place) {
    History history(place, History::Open::kWrite);
    const std::vector<Night> nights = history.nights();
    if (nights.empty()) throw Failure(place + ": it has no nights");
    int64_t id = nights.back().id;
    if (arguments.words_.size() > 2) id = count_from("NIGHT", arguments.words_[2]);
    if (std::none_of(nights.begin(), nights.end(), [&](const Night& night) { return night.id == id; }))
        throw Failure(place + ": no night " + std::to_string(id) +
                      "; `gpushim history show --json` lists them");
    history.accept(id);
    return kFine;
}

int run(const Arguments& arguments) {
    constexpr const char* kWhat =
        "gpushim history add HISTORY [RUN_OR_TRACES…] | show HISTORY | accept HISTORY [NIGHT]";
    if (arguments.words_.size() < 2) throw Failure(std::string("which history? ") + kWhat);
    const std::string &what = arguments.words_[0], &place = arguments.words_[1];
    if (what == "add") return add(arguments, place);
    if (what == "show") return show(arguments, place);
    if (what == "accept") return accept(arguments, place);
    throw Failure("history " + what + "? " + kWhat);
}

constexpr Command kHistory = {
    "history",
    "add|show|accept HISTORY [RUN_OR_TRACES…]",
    "keep the nightly runs of a job, and say since when it is slower",
    "`add` judges the new runs and keeps them. `show` prints the verdict again. `accept` makes "
    "the newest night, or the night given by number, the new normal.",
    -1,
    kOptions,
    run};
const Registration kRegistration(kHistory);

}  // namespace

}  // namespace gpushim::analysis::command_history
