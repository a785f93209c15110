// The report as it is printed, to copy from.
#include "../chart/frame.h"
#include "../report/printed.h"
#include "part.h"

namespace gpushim::analysis {

namespace {

Markup write(const PageInput& input) {
    std::string text;
    for (const std::string& line : as_text(input.report)) text += line + "\n";
    return folded("The report as it is printed", element("pre", {{"tabindex", "0"}}, text));
}

constexpr ReportPart kPart = {120, "text", "As text", write};
const ReportPartRegistration kRegistration(kPart);

}  // namespace

}  // namespace gpushim::analysis
