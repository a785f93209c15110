#include "../report/printed.h"

#include <cstdio>

#include "../failure.h"
#include "../text/tell.h"
#include "command.h"
#include "report_options.h"
#include "run_source.h"

namespace gpushim::analysis {

namespace {

constexpr Option kOptions[] = {
    {"all", nullptr, "also what is left out to fit a screen: waits, calls, collectives, memory, devices"},
    {"json", nullptr, "one JSON object; its keys stay"},
    {"markdown", nullptr, "to paste where Markdown is read"},
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
    for (const std::string& line : arguments.has("markdown") ? as_markdown(report) : as_text(report))
        std::puts(line.c_str());
}

int run(const Arguments& arguments) {
    if (arguments.has("json") && arguments.has("markdown")) throw Failure("--json or --markdown, not both");
    const std::vector<std::string> words =
        arguments.words_.empty() ? std::vector<std::string>{"."} : arguments.words_;
    const ReportOptions asked = report_options(arguments);
    const RunSource source = open_run(words, run_options(arguments), {});
    const Inputs* const traces = source.traces ? &*source.traces : nullptr;
    print(write_report({source.run, traces, asked}), arguments);
    if (traces != nullptr)
        for (const std::string& refused : traces->refused) tell("left out " + refused);
    return source.complete() ? kFine : kIncomplete;
}

constexpr Command kReport = {"report", "[RUN_OR_TRACES…] [--json|--markdown]", "the answer", 1, kOptions,
                             run};
const Registration kRegistration(kReport);

}  // namespace

}  // namespace gpushim::analysis
