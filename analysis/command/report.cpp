#include "../report/printed.h"

#include <cstdio>

#include "../exporter/text_file.h"
#include "../failure.h"
#include "../page/part.h"
#include "../report/hang.h"
#include "../terminal/progress.h"
#include "../terminal/stderr_line.h"
#include "../text/redact.h"
#include "command.h"
#include "fleet_report.h"
#include "report_options.h"
#include "run_source.h"

namespace gpushim::analysis::command_report {

namespace {

constexpr Option kOptions[] = {
    {"all", nullptr,
     "also print bounds, waits, calls, collectives, memory and devices, which the report leaves out to fit a "
     "screen"},
    {"json", nullptr, "print one JSON object, whose keys do not change"},
    {"markdown", nullptr, "print Markdown"},
    {"html", "FILE", "also write a page with charts: one file that needs no network"},
    {"fleet", "DIR",
     "report on many runs: the folder that scripts/fleet/read wrote. With --json and --html; other options "
     "are "
     "of one run"},
    {"params", "N",
     "number of parameters of the model, as in 11689512 or 1.5M: the report checks whether each step reduces "
     "them "
     "once"},
    {"bandwidth", "300GB/s",
     "bandwidth that AllReduce should reach; needs a unit, as in 300GB/s or 400Gbit/s"},
    {"bandwidth-between", "50GB/s", "the same between hosts, by all links of one host"},
    {"samples-per-step", "N", "samples in a step of all ranks together, for samples per second"},
    {"flops-per-sample", "N",
     "floating-point operations that a sample takes, as in 1.2e12: for TFLOP/s and MFU. Needs the samples in "
     "a step"},
    {"tokens-per-sample", "N",
     "instead of --flops-per-sample: tokens in a sample. A sample is then taken for 6 x parameters "
     "(--params) x "
     "tokens operations"},
    {"price", "2.50", "price of one GPU for an hour, to show what idle time costs"},
    {"from", "STEP",
     "first step to report on. The verdict, steps, phases, GPUs, idle time and what is served are then of "
     "the chosen steps; the rest is "
     "of the "
     "whole run"},
    {"to", "STEP", "last step to report on"},
    {"iterations", "A:B", "--from A --to B in one word, both inclusive; either may be left out, as in 20:"},
    {"step-marker", "NAME", "ranges with this name are the steps"},
    {"serving", nullptr, "the program serves a language model, whatever its kernels' names tell"},
    {"training", nullptr, "the program does not"},
    {"redact", nullptr,
     "print hashes instead of the names of kernels, ranges, hosts, programs and files. Somebody who guesses "
     "a "
     "name can check the guess"},
};

void print(const Report& report, const Arguments& arguments) {
    if (arguments.has("json")) {
        std::printf("%s\n", report.json.text().c_str());
        return;
    }
    for (const std::string& line : arguments.has("markdown") ? as_markdown(report) : as_printed(report))
        std::puts(line.c_str());
}

Report written(const ReportSource& source) {
    const Progress writing("writing the report");
    return write_report(source);
}

void write_page(const std::string& place, const ReportSource& source, const Report& report) {
    const Progress writing("drawing the page");
    TextFile file(place);
    file.write(report_page(source, report));
    file.finish();
}

int run(const Arguments& arguments) {
    const auto page = arguments.value("html");
    // Nothing that is there, a trace say, is replaced by mistake.
    if (page && !page->ends_with(".html"))
        throw Failure("--html " + *page + ": give it a name that ends in .html");
    if (arguments.has("json") && arguments.has("markdown")) throw Failure("--json or --markdown, not both");
    if (const auto fleet = arguments.value("fleet")) {
        if (!arguments.words_.empty())
            throw Failure("--fleet DIR says what to report on: no traces beside it");
        return report_fleet(*fleet, arguments.has("json"), page);
    }
    const std::vector<std::string> words =
        arguments.words_.empty() ? std::vector<std::string>{"."} : arguments.words_;
    if (arguments.has("redact")) hide_names_of(words);
    ReportOptions asked = report_options(arguments);
    asked.only_lines = !arguments.has("json") && !page;
    const RunSource source = open_run(words, run_options(arguments), {});
    const Inputs* const traces = source.traces ? &*source.traces : nullptr;
    const ReportSource asked_of = {source.run, traces, asked};
    require_steps(asked_of);
    const Report report = written(asked_of);
    print(report, arguments);
    if (page) write_page(*page, asked_of, report);
    if (traces != nullptr) tell_few("left out ", traces->refused);
    if (!source.complete() || !report.json["contradictions"].items().empty()) return kIncomplete;
    return hang_of(asked_of) ? kHung : kFine;
}

constexpr Command kReport = {"report",
                             "[RUN_OR_TRACES…] [--json|--markdown] [--html FILE]",
                             "print where the time went and what to change first",
                             "Without arguments it reports on the newest run in this folder. Given traces, "
                             "it analyses them first. Options "
                             "that describe the job win over those that the run was analysed with.",
                             1,
                             kOptions,
                             run};
const Registration kRegistration(kReport);

}  // namespace

}  // namespace gpushim::analysis::command_report
