// What of a run cannot all be true: the rows of its view `v_contradiction`, asked when the report is written.
// The sections that hang on it are not shown. Where only bounds object that are estimates, nothing is proven:
// it is said, and all is shown. One thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "section.h"

namespace gpushim::analysis {

struct Contradiction {
    std::string name;      // of the check
    std::string sections;  // that it withholds, with a space between; empty: only estimated bounds object
    std::string who, text;
};
// None of runs that were analysed before there were checks. Asked once: it reads sums over all steps.
const std::vector<Contradiction>& contradictions_of(const ReportSource& source);

bool is_withheld(std::string_view section, const std::vector<Contradiction>& all);
// That section without its figures: a line says so, and the members of its JSON are null.
Report withheld(std::string_view section, const Report& written);

}  // namespace gpushim::analysis
