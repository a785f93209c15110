// Whether programs start with the library in front.
#include <cstdlib>

#include "../failure.h"
#include "../process/library.h"
#include "check.h"

namespace gpushim::analysis::check_library {

namespace {

void look(const Examined&, std::vector<CheckFinding>& findings) {
    try {
        const auto library = library_path();
        const std::string why = why_not_loaded(library);
        const size_t rows = hooks().size();
        if (!why.empty())
            findings.push_back({CheckVerdict::blind, "library", library.string() + " is not loaded: " + why});
        else
            findings.push_back(
                {CheckVerdict::fine, "library",
                 library.string() + (rows != 0 ? ", " + std::to_string(rows) + " hooks" : "")});
    } catch (const Failure& failure) {
        findings.push_back({CheckVerdict::blind, "library", failure.what()});
    }
    if (const char* preload = std::getenv("LD_PRELOAD"); preload != nullptr && *preload != 0)
        findings.push_back({CheckVerdict::fine, "preload",
                            "LD_PRELOAD is " + std::string(preload) + "; gpushim goes in front of that"});
}

constexpr Check kCheck = {0, look};
const CheckRegistration kRegistration(kCheck);

}  // namespace

}  // namespace gpushim::analysis::check_library
