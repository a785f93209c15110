// `gpushim history`: nights of a job beside each other. add judges runs that came and keeps what is asked of
// them later; show says what there is to say tonight; accept makes a night the new normal.
#include <algorithm>
#include <cstdio>
#include <ctime>

#include "../exporter/text_file.h"
#include "../failure.h"
#include "../history/arrival.h"
#include "../history/judge.h"
#include "../history/nightly_report.h"
#include "../process/temporary.h"
#include "../report/printed.h"
#include "../text/tell.h"
#include "command.h"
#include "report_options.h"
#include "run_source.h"
#include "run_summaries.h"
#include "threshold.h"

namespace gpushim::analysis {

namespace {

constexpr Option kOptions[] = {
    {"threshold", "3%", "a smaller change is no change"},
    {"nights", "14", "that the noise is known from, and that are shown"},
    {"keep", "400", "add: so many nights stay"},
    {"tags", "model", "add: tags that tell jobs apart, key,key"},
    {"samples-per-step", "N", "add: of all ranks together"},
    {"params", "N", "add: parameters of the model"},
    {"bandwidth", "300GB/s", "add: what AllReduce is expected to reach"},
    {"note", "TEXT", "show: what else happened; makes the answer inconclusive"},
    {"max-age", "36", "show: hours; an older newest night means that one is missing"},
    {"json", nullptr, "show: one JSON object; its keys stay"},
    {"markdown", nullptr, "show: to paste where Markdown is read"},
    {"html", "FILE", "show: a page to look at"},
    {"junit", "FILE", "show: the verdict as a build server reads it"},
};

int64_t number_of(const Arguments& arguments, const char* option, int64_t otherwise) {
    const auto text = arguments.value(option);
    return text ? count_from(std::string("--") + option, *text) : otherwise;
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
    return {threshold_from(arguments), static_cast<size_t>(number_of(arguments, "nights", 14))};
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
    judge(night, side, before, [&](int64_t id) { return history.side(id); }, judge_options(arguments));
    night.id = history.add(night, side);
    history.prune(static_cast<size_t>(number_of(arguments, "keep", 400)));
    history.keep();
    return night;
}

// Prints a line for each night that was judged now.
int add(const Arguments& arguments, const std::string& place) {
    History history(place, History::Open::kWrite);
    std::vector<Arrival> arrivals;
    for (size_t i = 2; i < arguments.words_.size(); ++i) arrivals.push_back(look_at(arguments.words_[i]));
    std::stable_sort(arrivals.begin(), arrivals.end(), [](const Arrival& a, const Arrival& b) {
        return a.started_real_ns < b.started_real_ns;
    });
    int outcome = kFine;
    for (const Arrival& arrival : arrivals) {
        const std::vector<Night> nights = history.nights();
        const Night* const night = known(history, nights, arrival);
        if (!arrival.why_empty.empty()) {
            tell(arrival.why_empty);
            outcome = kIncomplete;
        } else if (!arrival.still_writing.empty()) {
            tell(arrival.word + ": not judged yet, " + arrival.still_writing + " is still being written");
            outcome = kIncomplete;
        } else if (night == nullptr || history.traces(night->id) != arrival.traces) {
            const Night judged = add_night(history, arguments, arrival);
            outcome = exit_code_of(judged.result);
            Report line;
            line.line(std::string(name_of(judged.result)) + " " + judged.name + ": " + judged.why);
            std::printf("%s\n", as_text(line).front().c_str());
        } else {
            outcome = exit_code_of(night->result);
        }
    }
    return outcome;
}

void write_file(const std::string& place, const std::string& text) {
    TextFile file(place);
    file.write(text);
    file.finish();
}

int show(const Arguments& arguments, const std::string& place) {
    const History history(place, History::Open::kRead);
    const JudgeOptions asked = judge_options(arguments);
    NightlyOptions options{asked.threshold, asked.nights, {}, {}};
    if (const auto note = arguments.value("note"); note && !note->empty()) options.notes.push_back(*note);
    if (const int64_t hours = number_of(arguments, "max-age", 0); hours > 0)
        options.oldest_ns = (std::time(nullptr) - hours * 3600) * 1'000'000'000;
    const std::vector<Tonight> all = tonight(history, options);
    Report report;
    write_nightly(history, all, options, report);
    if (const auto file = arguments.value("junit")) write_file(*file, nightly_junit(history, all, options));
    if (arguments.has("json"))
        std::printf("%s\n", report.json.text().c_str());
    else
        for (const std::string& line : arguments.has("markdown") ? as_markdown(report) : as_text(report))
            std::puts(line.c_str());
    return outcome_of(all, options);
}

int accept(const Arguments& arguments, const std::string& place) {
    History history(place, History::Open::kWrite);
    const std::vector<Night> nights = history.nights();
    if (nights.empty()) throw Failure(place + ": no night in it");
    int64_t id = nights.back().id;
    if (arguments.words_.size() > 2) id = count_from("NIGHT", arguments.words_[2]);
    if (std::none_of(nights.begin(), nights.end(), [&](const Night& night) { return night.id == id; }))
        throw Failure(place + ": no night " + std::to_string(id) + "; `gpushim history show` has them in --json");
    history.accept(id);
    return kFine;
}

int run(const Arguments& arguments) {
    constexpr const char* kWhat =
        "gpushim history add HISTORY RUN_OR_TRACES… | show HISTORY | accept HISTORY [NIGHT]";
    if (arguments.words_.size() < 2) throw Failure(std::string("what of which history? ") + kWhat);
    const std::string &what = arguments.words_[0], &place = arguments.words_[1];
    if (what == "add") return add(arguments, place);
    if (what == "show") return show(arguments, place);
    if (what == "accept") return accept(arguments, place);
    throw Failure("history " + what + "? " + kWhat);
}

constexpr Command kHistory = {
    "history", "add|show|accept HISTORY [RUN_OR_TRACES…]", "nights of a job: good, or since when not",
    -1,        kOptions,                                   run};
const Registration kRegistration(kHistory);

}  // namespace

}  // namespace gpushim::analysis
