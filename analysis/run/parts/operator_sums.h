// What the operators and modules of a framework launched, where another tool's trace tells of them: sums over
// rows of launch_operator that have a launch, its stream and device times. The three tables are read side by
// side, in order of their keys, which takes a fifth of what a join in SQL does. Memory is that of the sums.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../../sqlite/database.h"

namespace gpushim::analysis {

struct OperatorSum {
    std::optional<int64_t> device;
    std::optional<std::string> name, module;
    std::optional<int64_t> pass;
    std::optional<std::string> forward;
    int64_t launches = 0, ns = 0;
};

// In order of what they are sums of; what is not told comes first.
std::vector<OperatorSum> operator_sums(const Database& trace);

}  // namespace gpushim::analysis
