// Calls that a process asked for in a version of CUDA that the library does not know: it has handed them out
// as they are, and what goes through them is in no trace. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "../sqlite/database.h"

namespace gpushim::analysis {

// How many; none: the trace does not say.
std::optional<int64_t> unknown_abi_of(const Database& trace);

std::string unknown_abi_text(int64_t calls);

}  // namespace gpushim::analysis
