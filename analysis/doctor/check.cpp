#include "check.h"

#include <algorithm>
#include <fstream>

namespace gpushim::analysis {

namespace {

std::vector<const Check*>& checks() {
    static std::vector<const Check*> all;
    return all;
}

}  // namespace

CheckRegistration::CheckRegistration(const Check& check) { checks().push_back(&check); }

std::vector<CheckFinding> run_checks(const Examined& examined) {
    std::sort(checks().begin(), checks().end(), [](auto a, auto b) { return a->place < b->place; });
    std::vector<CheckFinding> findings;
    for (const Check* check : checks()) check->look(examined, findings);
    return findings;
}

std::string line_of(const char* path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

}  // namespace gpushim::analysis
