// The page of a run: what nobody may miss and the headline figures, then its parts.
#include <algorithm>

#include "../chart/page.h"
#include "../report/facts.h"
#include "../text/units.h"
#include "headline.h"
#include "part.h"

namespace gpushim::analysis {

namespace {

std::vector<const ReportPart*>& parts() {
    static std::vector<const ReportPart*> all;
    return all;
}

std::string title_of(const PageInput& input) {
    const std::string program = input.of("run")["program"].words();
    return "gpushim: " + (program.empty() ? "a run" : program);
}

}  // namespace

ReportPartRegistration::ReportPartRegistration(const ReportPart& part) { parts().push_back(&part); }

std::string report_page(const ReportSource& source, const Report& report) {
    std::sort(parts().begin(), parts().end(), [](auto a, auto b) { return a->place < b->place; });
    const PageInput input = {source, report};
    Page page = {title_of(input), headline(input), {}};
    for (const ReportPart* part : parts())
        if (Markup body = part->write(input); !body.empty())
            page.sections.push_back({part->id, part->heading, std::move(body)});
    return page_text(page);
}

}  // namespace gpushim::analysis
