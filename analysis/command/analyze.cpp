#include <cstdio>

#include "../failure.h"
#include "../run/sql/run_db.h"
#include "../terminal/stderr_line.h"
#include "command.h"
#include "rank_summary.h"
#include "report_options.h"
#include "run_source.h"

namespace gpushim::analysis::command_analyze {

namespace {

constexpr Option kOptions[] = {
    {"output", "FILE", "the run database to write", 'o', "gpushim.run.db beside the traces"},
    {"rank-summary", nullptr,
     "write a rank summary of each trace beside it (NAME.summary) instead: sums and histograms that add up "
     "over "
     "ranks, and the names of the traces. With -o, one of all of them as one run"},
    {"params", "N", "number of parameters of the model, as in 11689512 or 1.5M"},
    {"bandwidth", "300GB/s", "bandwidth that AllReduce should reach, with a unit"},
    {"bandwidth-between", "50GB/s", "the same between hosts, by all links of one host"},
    {"samples-per-step", "N", "samples in a step of all ranks together"},
    {"flops-per-sample", "N", "floating-point operations that a sample takes, as in 1.2e12"},
    {"tokens-per-sample", "N", "instead: tokens in a sample, each for 6 x parameters (--params) operations"},
    {"price", "2.50", "price of one GPU for an hour"},
    {"step-marker", "NAME", "ranges with this name are the steps"},
    {"serving", nullptr, "the program serves a language model, whatever its kernels' names tell"},
    {"training", nullptr, "the program does not"},
};

// What is there already goes only where it is a run database: it is made anew.
void refuse_to_replace(const std::filesystem::path& place) {
    if (!std::filesystem::exists(place)) return;
    bool is_ours = false;
    try {
        is_ours = is_run(Database(place));
    } catch (const Failure&) {  // not even a database
    }
    if (!is_ours) throw Failure(place.string() + ": exists and is not a run database; it was left unchanged");
}

RunSource opened_run(const Arguments& arguments, const std::filesystem::path& place) {
    try {
        return open_run(arguments.words_, run_options(arguments), place);
    } catch (const Unwritable& failure) {
        throw Unwritable(failure.what() + std::string("; -o FILE names another place"));
    }
}

int run(const Arguments& arguments) {
    if (arguments.words_.empty()) throw Failure("which traces? gpushim analyze TRACE… -o run.db");
    const auto output = arguments.value("output");
    if (arguments.has("rank-summary"))
        return output ? summarise_together(arguments.words_, run_options(arguments), *output)
                      : summarise_each(arguments.words_, run_options(arguments));
    const std::filesystem::path place =
        output ? std::filesystem::path(*output) : place_beside(arguments.words_);
    refuse_to_replace(place);
    const RunSource source = opened_run(arguments, place);
    if (!source.traces)
        throw Failure(source.place.string() + ": is already a run database; `gpushim report` reads it");
    for (const std::string& note : source.traces->notes) stderr_line(note);
    tell_few("left out ", source.traces->refused);
    std::printf("%s\n", source.place.c_str());
    return source.complete() ? kFine : kIncomplete;
}

constexpr Command kAnalyze = {
    "analyze", "TRACE… -o run.db", "write the run database of traces, without a report", "", -1, kOptions,
    run};
const Registration kRegistration(kAnalyze);

}  // namespace

}  // namespace gpushim::analysis::command_analyze
