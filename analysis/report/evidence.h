// How good the evidence of a report is, in one word, and what is wrong with it. The thresholds stand in the
// table of the manual, too.
//
//   good   nothing that would change what the report says
//   fair   a part of the run was not seen, or figures are estimates over much of it
//   poor   the figures may be of something else than the run
//
// One thread.
#pragma once

#include <string>
#include <vector>

#include "source.h"
#include "trust_figures.h"

namespace gpushim::analysis {

enum class Grade { good, fair, poor };
const char* word_of(Grade grade);

struct TrustGrade {
    Grade grade = Grade::good;
    std::string basis;                // "all operations timed, own cost 0.7 %"
    std::vector<std::string> wrongs;  // what is wrong with it; what is worst first
    bool is_simulated = false;        // whatever the grade is, these are not GPU times
};

TrustGrade evidence_of(const ReportSource& source);

}  // namespace gpushim::analysis
