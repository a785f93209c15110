// What the name of a range, an operator or a Python frame tells of the thread that is in it. Pure; any
// thread.
#pragma once

#include <optional>
#include <string_view>

#include "../trace/host_inside.h"

namespace gpushim::analysis {

// None: the name says nothing of the framework; a program's own range may hold anything.
std::optional<HostInside> inside_of(std::string_view name);

// What PyTorch's profiler, loaders and optimizers mark themselves, by a number or a name behind a '#'.
bool is_mark(std::string_view name);

// Whose name an operator is, where profilers of several frameworks write one format: tensorflow, jax; empty:
// it is not told.
std::string_view framework_of(std::string_view name);

}  // namespace gpushim::analysis
