#include "../report/section.h"

#include <cstdio>

#include "../failure.h"
#include "../process/recovery.h"
#include "command.h"

namespace gpushim::analysis {

namespace {

constexpr Option kOptions[] = {
    {"json", nullptr, "one JSON object; its keys stay"},
    {"markdown", nullptr, "to paste where Markdown is read"},
};

void print(const Report& report, const Arguments& arguments) {
    if (arguments.has("json")) {
        std::printf("%s\n", report.json.text().c_str());
        return;
    }
    if (arguments.has("markdown")) std::puts("```");
    for (const std::string& line : report.lines) std::puts(line.c_str());
    if (arguments.has("markdown")) std::puts("```");
}

int run(const Arguments& arguments) {
    if (arguments.has("json") && arguments.has("markdown")) throw Failure("--json or --markdown, not both");
    const std::vector<std::string> words =
        arguments.words_.empty() ? std::vector<std::string>{"."} : arguments.words_;
    const Recovery recovery(words);
    const Inputs inputs = open_traces(words, recovery);
    print(write_report(inputs), arguments);
    for (const std::string& refused : inputs.refused)
        std::fprintf(stderr, "gpushim: left out %s\n", refused.c_str());
    return recovery.complete() && inputs.refused.empty() ? kFine : kIncomplete;
}

constexpr Command kReport = {"report", "[RUN_OR_TRACES…] [--json|--markdown]", "the answer", 1, kOptions,
                             run};
const Registration kRegistration(kReport);

}  // namespace

}  // namespace gpushim::analysis
