// What a name says, as tests compare it: family, precision, tensor cores.
#pragma once

#include <string>

#include "analysis/kernel/kernel_class.h"

namespace gpushim::analysis {

inline std::string said_by(std::string_view name) {
    const KernelClass kernel = classify(name);
    std::string text;
    for (const std::string_view part :
         {name_of(kernel.family), name_of(kernel.precision), name_of(kernel.tensor_core)})
        text += (text.empty() ? "" : " ") + std::string(part);
    return text;
}

}  // namespace gpushim::analysis
