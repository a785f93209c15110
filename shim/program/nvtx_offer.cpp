// The environment variable by which NVTX finds us.
#include <dlfcn.h>
#include <unistd.h>

#include <cstring>

#include "nvtx.h"

namespace gpushim::shim {
namespace {

constexpr char kVariable[] = "NVTX_INJECTION64_PATH=";
constexpr size_t kVariableLength = sizeof kVariable - 1;
constexpr size_t kMostVariables = 8192;

constinit char entry[kVariableLength + 4096] = {};
// The environment with one more: setenv would allocate, and nothing may before the program's own code.
constinit char* variables[kMostVariables + 2] = {};

const char* file_of(const char* path) {
    const char* slash = strrchr(path, '/');
    return slash != nullptr ? slash + 1 : path;
}

const char* own_path() {
    Dl_info info;
    return dladdr(reinterpret_cast<const void*>(&offer_to_nvtx), &info) != 0 ? info.dli_fname : nullptr;
}

// A parent that was traced has left us the path of its library, which need not be ours.
bool is_of_another_tool(const char* value, const char* path) {
    return *value != '\0' && strcmp(file_of(value), file_of(path)) != 0;
}

}  // namespace

void offer_to_nvtx() {
    const char* path = own_path();
    if (path == nullptr || strlen(path) >= sizeof entry - kVariableLength || environ == nullptr) return;
    memcpy(entry, kVariable, kVariableLength);
    strcpy(entry + kVariableLength, path);

    size_t count = 0;
    for (; environ[count] != nullptr; ++count) {
        if (strncmp(environ[count], kVariable, kVariableLength) != 0) continue;
        if (!is_of_another_tool(environ[count] + kVariableLength, path)) environ[count] = entry;
        return;
    }
    if (count > kMostVariables) return;
    memcpy(variables, environ, count * sizeof *variables);
    variables[count] = entry;
    environ = variables;
}

}  // namespace gpushim::shim
