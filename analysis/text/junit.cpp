#include "junit.h"

#include <algorithm>

#include "escape.h"

namespace gpushim::analysis {

namespace {

std::string attribute(const char* name, const std::string& value) {
    return std::string(" ") + name + "=\"" + for_xml(value) + "\"";
}

int64_t count_of(std::span<const JunitCase> cases, ExitCode outcome) {
    return std::count_if(cases.begin(), cases.end(),
                         [&](const JunitCase& one) { return one.outcome == outcome; });
}

std::string case_text(const std::string& suite, const JunitCase& one) {
    std::string text =
        "  <testcase" + attribute("classname", suite) + attribute("name", one.name) + " time=\"0\">\n";
    const char* const what = one.outcome == kSlower ? "failure" : one.outcome == kFine ? nullptr : "error";
    if (what != nullptr)
        text += std::string("    <") + what + attribute("message", one.message) + ">" + for_xml(one.message) +
                "</" + what + ">\n";
    return text + "    <system-out>" + for_xml(one.output) + "</system-out>\n  </testcase>\n";
}

}  // namespace

std::string junit_text(const std::string& suite, std::span<const JunitCase> cases) {
    std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite" + attribute("name", suite) +
                       attribute("tests", std::to_string(cases.size())) +
                       attribute("failures", std::to_string(count_of(cases, kSlower))) +
                       attribute("errors", std::to_string(count_of(cases, kIncomplete))) + ">\n";
    for (const JunitCase& one : cases) text += case_text(suite, one);
    return text + "</testsuite>\n";
}

}  // namespace gpushim::analysis
