// What an export of Nsight Systems does not have, and what its profiler said of that. One thread.
#pragma once

#include <string>

#include "../../sqlite/database.h"

namespace gpushim::analysis {

bool nsys_has_work(const Database& base);  // of a GPU
// What it warned of itself, behind "; ": it may have started too late, or have been too old for the driver.
// Empty: of nothing.
std::string nsys_warning(const Database& base);
// Without these the work of GPUs is there, but not who asked for it, or what it is called. Empty: all are
// there.
std::string nsys_missing_tables(const Database& base);

}  // namespace gpushim::analysis
