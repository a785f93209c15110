// A kernel's name as C++ has it. Names come from other people's files and may be anything. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace gpushim::analysis {

// Demangled, where it is mangled and neither cut off nor longer than 16 KB; else as it is.
std::string demangled(std::string_view name);

// A function's own name with its template arguments: without the type it returns, and without its parameters,
// which repeat types and name those of other kernels (cublasTransposeParams is an argument of a scaling).
std::string_view own_name(std::string_view demangled);

// Where the bracket at `at` closes; the end: nowhere. Within ( and { a < may be a comparison, so it opens
// nothing there.
size_t closing(std::string_view text, size_t at);

}  // namespace gpushim::analysis
