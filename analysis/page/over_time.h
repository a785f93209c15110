// Curves of table gpu_curve: what changed over the run, by GPU. Of many GPUs those with the highest values.
#pragma once

#include <string>

#include "part.h"

namespace gpushim::analysis {

struct CurveWords {
    const char* what;   // as in gpu_curve
    const char* id;     // of the drawing
    const char* title;  // what it shows
    std::string (*text)(double);
    double scale;  // of the values: 1e-3 where they are in thousandths
    bool with_zero;
    bool binary = false;  // bytes of memory
};

// Empty: the run has no such values.
Markup curve_of(const PageInput& input, const CurveWords& words);

}  // namespace gpushim::analysis
