// `gpushim compare BASE NEW`: the same, better or slower, and why.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "../compare/comparison_report.h"
#include "../exporter/text_file.h"
#include "../failure.h"
#include "../report/printed.h"
#include "../terminal/stderr_line.h"
#include "../text/junit.h"
#include "command.h"
#include "run_summaries.h"
#include "threshold.h"

namespace gpushim::analysis::command_compare {

namespace {

constexpr Option kOptions[] = {
    {"threshold", "SHARE", "a smaller change counts as none", 0, "3%"},
    {"json", nullptr, "print one JSON object, whose keys do not change"},
    {"markdown", nullptr, "print Markdown"},
    {"junit", "FILE", "write the verdict as JUnit XML, for a build server"},
    {"samples-per-step", "N", "samples in a step of all ranks together, in both runs"},
    {"params", "N", "number of parameters of the model, as in 11689512 or 1.5M"},
    {"bandwidth", "300GB/s", "bandwidth that AllReduce should reach, with a unit"},
};

std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
}

void write_junit(const std::string& file, const Side& base, const Side& now, const Comparison& is,
                 const Report& report) {
    const JunitCase one = {now.name + " against " + base.name, exit_code_of(is.verdict), verdict_words(is),
                           joined(as_text(report))};
    TextFile out(file);
    out.write(junit_text("gpushim compare", {&one, 1}));
    out.finish();
}

int run(const Arguments& arguments) {
    if (arguments.words_.size() != 2) throw Failure("which runs? gpushim compare BASE NEW");
    if (arguments.has("json") && arguments.has("markdown")) throw Failure("--json or --markdown, not both");
    const double threshold = threshold_from(arguments);
    const std::vector<Side> sides = open_sides(arguments);
    const Comparison is = compare(sides[0], sides[1], threshold);
    Report report;
    write_comparison(sides[0], sides[1], is, report);
    if (const auto file = arguments.value("junit")) write_junit(*file, sides[0], sides[1], is, report);
    if (arguments.has("json"))
        std::printf("%s\n", report.json.text().c_str());
    else
        std::fputs(joined(arguments.has("markdown") ? as_markdown(report) : as_printed(report)).c_str(),
                   stdout);
    if (is.verdict == Verdict::kInconclusive) stderr_line("inconclusive: " + is.why);
    return exit_code_of(is.verdict);
}

constexpr Command kCompare = {"compare",
                              "BASE NEW [--threshold 3%] [--json]",
                              "say whether a run is the same, better or slower, and why",
                              "BASE and NEW are runs, or folders with traces.",
                              2,
                              kOptions,
                              run};
const Registration kRegistration(kCompare);

}  // namespace

}  // namespace gpushim::analysis::command_compare
