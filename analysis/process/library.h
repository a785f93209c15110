// libgpushim.so as a file: where it is, whether the loader takes it, and what its C functions tell. The
// library is never loaded for tracing here.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gpushim::analysis {

// What `gpushim` is started with to see whether the loader takes a library: it does nothing then.
constexpr std::string_view kProbe = "--loads";

// Beside this program, or in ../lib of it. Throws Failure where it is not there or cannot be named in
// LD_PRELOAD.
std::filesystem::path library_path();
std::filesystem::path program_path();

// LD_PRELOAD with the library first and what was there before behind it.
std::string preload_with(const std::filesystem::path& library);

// Empty: a program starts with it preloaded. Else what the loader said.
std::string why_not_loaded(const std::filesystem::path& library);

// One of the library's C functions, to be called in this process. Null: it cannot be had, and why.
void* library_symbol(const char* name, std::string& why);

template <class Function>
Function* library_function(const char* name, std::string& why) {
    return reinterpret_cast<Function*>(library_symbol(name, why));
}

struct Hook {
    std::string name;
    std::string kind;
};
std::vector<Hook> hooks();  // empty: the library does not tell

}  // namespace gpushim::analysis
