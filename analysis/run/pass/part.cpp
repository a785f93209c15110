#include "part.h"

namespace gpushim::analysis {

namespace {

using Make = std::unique_ptr<Part> (*)(const TraceFacts&);

std::vector<Make>& makers() {
    static std::vector<Make> all;
    return all;
}

}  // namespace

PartRegistration::PartRegistration(Make make) { makers().push_back(make); }

std::vector<std::unique_ptr<Part>> make_parts(const TraceFacts& facts) {
    std::vector<std::unique_ptr<Part>> parts;
    for (const Make make : makers()) parts.push_back(make(facts));
    return parts;
}

}  // namespace gpushim::analysis
