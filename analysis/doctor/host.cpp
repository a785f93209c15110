// The kernel under it: where ticks come from.
#include <sys/utsname.h>

#include "check.h"

namespace gpushim::analysis::check_host {

namespace {

void look(const Examined&, std::vector<CheckFinding>& findings) {
    const std::string source = line_of("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    if (source == "tsc")
        findings.push_back({CheckVerdict::fine, "clock", "tsc: a time stamp takes a few nanoseconds"});
    else
        findings.push_back({CheckVerdict::limited, "clock",
                            (source.empty() ? "unknown" : source) +
                                ", not tsc: time stamps come from clock_gettime"
                                " and cost two to three times as much"});
    utsname name;
    if (uname(&name) == 0)
        findings.push_back({CheckVerdict::fine, "kernel", std::string(name.release) + " " + name.machine});
}

constexpr Check kCheck = {30, look};
const CheckRegistration kRegistration(kCheck);

}  // namespace

}  // namespace gpushim::analysis::check_host
