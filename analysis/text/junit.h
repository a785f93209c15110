// Verdicts as JUnit's XML, which build servers show: a case for each, that passes, fails, or is an error.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "../failure.h"

namespace gpushim::analysis {

struct JunitCase {
    std::string name;
    ExitCode outcome;     // kSlower fails; kIncomplete is an error: nobody can tell
    std::string message;  // in a line, why
    std::string output;   // all there is to read
};

std::string junit_text(const std::string& suite, std::span<const JunitCase> cases);

}  // namespace gpushim::analysis
