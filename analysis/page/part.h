// A part of a run's page is one file that registers itself: a question, answered by a drawing with the same
// as a table, or by why there is none. Figures are those of the report, read from its JSON, so they are the
// same everywhere; only what a drawing needs beyond, row by row, is asked of the run's database.
#pragma once

#include <string>

#include "../chart/markup.h"
#include "../report/section.h"

namespace gpushim::analysis {

struct PageInput {
    const ReportSource& source;
    const Report& report;

    const Json& of(const char* key) const { return report.json[key]; }
    // One GPU, and no other rank is missing: there is nobody to compare it with.
    bool is_alone() const {
        return of("gpus").items().size() <= 1 && source.number("ranks_expected").value_or(1) <= 1;
    }
};

// The page from its top to its bottom: parts by their ids.
constexpr std::string_view kParts[] = {
    "findings", "serving", "steps",  "step-parts", "gpus",      "timeline", "ranks", "collectives",
    "launches", "kernels", "copies", "memory",     "condition", "trust",    "text",
};

struct ReportPart {
    using Write = Markup(const PageInput&);
    consteval ReportPart(const char* name, const char* words, Write* writes)
        : place(place_among(kParts, name)), id(name), heading(words), write(writes) {}

    size_t place;  // on the page
    const char* id;
    const char* heading;
    Write* write;  // nothing: the page has no such part
};

struct ReportPartRegistration {
    explicit ReportPartRegistration(const ReportPart& part);
};

std::string report_page(const ReportSource& source, const Report& report);

}  // namespace gpushim::analysis
