#include "threshold.h"

#include <cmath>
#include <cstdlib>

#include "../failure.h"

namespace gpushim::analysis {

double threshold_from(const Arguments& arguments) {
    const auto text = arguments.value("threshold");
    if (!text) return kDefaultThreshold;
    char* end = nullptr;
    const double percent = std::strtod(text->c_str(), &end);
    const bool is_number = end != text->c_str() && std::isfinite(percent);
    if (!is_number || std::string_view(end) != "%" || percent <= 0 || percent > 100)
        throw Failure("--threshold " + *text + ": write it as 3%, above 0 and up to 100%");
    return percent / 100;
}

}  // namespace gpushim::analysis
