#include "call_faults.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

#include "knobs.h"

namespace gpusim {

InjectedFault injected_fault(std::string_view export_name) {
    std::istringstream rules(knobs().fail);
    for (std::string rule; std::getline(rules, rule, ',');) {
        InjectedFault fault;
        char name[80];
        fault.each = std::sscanf(rule.c_str(), "%79[^:]:each:%d", name, &fault.error) == 2;
        if (!fault.each && std::sscanf(rule.c_str(), "%79[^:]:%lu:%d", name, &fault.nth, &fault.error) != 3) {
            std::fprintf(stderr, "gpusim: GPUSIM_FAIL=%s is not <export>:<nth>:<error>\n", rule.c_str());
            std::_Exit(2);
        }
        if (export_name == name) return fault;
    }
    return {};
}

}  // namespace gpusim
