#include "../report/printed.h"

#include <cstdio>

#include "../exporter/text_file.h"
#include "../failure.h"
#include "../page/part.h"
#include "../terminal/progress.h"
#include "../terminal/tell.h"
#include "../text/redact.h"
#include "command.h"
#include "report_options.h"
#include "run_source.h"

namespace gpushim::analysis::command_report {

namespace {

constexpr Option kOptions[] = {
    {"all", nullptr,
     "also what is left out to fit a screen: bounds, waits, calls, collectives, memory, devices"},
    {"json", nullptr, "one JSON object; its keys stay"},
    {"markdown", nullptr, "to paste where Markdown is read"},
    {"html", "FILE", "also a page with drawings: one file that needs no network"},
    {"params", "N", "parameters of the model: are they reduced once in a step?"},
    {"bandwidth", "300GB/s", "what AllReduce is expected to reach"},
    {"bandwidth-between", "50GB/s", "the same between hosts, by all links of one of them"},
    {"samples-per-step", "N", "of all ranks together: for samples per second"},
    {"price", "2.50", "of an hour of one GPU: what idle time costs"},
    {"from", "STEP", "only steps from this number on"},
    {"to", "STEP", "… up to this one"},
    {"step-marker", "NAME", "ranges of this name are the steps"},
    {"redact", nullptr, "hashes instead of the names of kernels, hosts, programs and files"},
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
    const std::vector<std::string> words =
        arguments.words_.empty() ? std::vector<std::string>{"."} : arguments.words_;
    if (arguments.has("redact")) hide_names_of(words);
    const ReportOptions asked = report_options(arguments);
    const RunSource source = open_run(words, run_options(arguments), {});
    const Inputs* const traces = source.traces ? &*source.traces : nullptr;
    const ReportSource asked_of = {source.run, traces, asked};
    require_steps(asked_of);
    const Report report = written(asked_of);
    print(report, arguments);
    if (page) write_page(*page, asked_of, report);
    if (traces != nullptr) tell_few("left out ", traces->refused);
    return source.complete() ? kFine : kIncomplete;
}

constexpr Command kReport = {
    "report", "[RUN_OR_TRACES…] [--json|--markdown] [--html FILE]", "the answer", 1, kOptions, run};
const Registration kRegistration(kReport);

}  // namespace

}  // namespace gpushim::analysis::command_report
