// The program that was named: whether a preload reaches it at all.
#include "../process/reach.h"
#include "check.h"

namespace gpushim::analysis::check_program {

namespace {

void look(const Examined& examined, std::vector<CheckFinding>& findings) {
    if (examined.program.empty()) return;
    const std::string path = found_on_path(examined.program[0]);
    if (path.empty()) {
        findings.push_back({CheckVerdict::blind, "program", examined.program[0] + ": not found"});
        return;
    }
    const Reach reach = reach_of(path);
    findings.push_back({reach.reached ? CheckVerdict::fine : CheckVerdict::blind, "program", reach.text});
}

constexpr Check kCheck = {40, look};
const CheckRegistration kRegistration(kCheck);

}  // namespace

}  // namespace gpushim::analysis::check_program
