// The report as it is printed, to copy from.
#include "../chart/frame.h"
#include "../chart/page.h"
#include "../report/printed.h"
#include "part.h"

namespace gpushim::analysis::part_as_text {

namespace {

Markup write(const PageInput& input) {
    return folded("The report as it is printed", preformatted(as_text(input.report)));
}

constexpr ReportPart kPart = {"text", "As text", write};
const ReportPartRegistration kRegistration(kPart);

}  // namespace

}  // namespace gpushim::analysis::part_as_text
