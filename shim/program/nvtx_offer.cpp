// The environment variable by which NVTX finds us.
#include <dlfcn.h>

#include <cstring>

#include "../base/own_variables.h"
#include "nvtx.h"

namespace gpushim::shim {
namespace {

constexpr char kVariable[] = "NVTX_INJECTION64_PATH=";
constexpr size_t kVariableLength = sizeof kVariable - 1;

constinit char entry[kVariableLength + 4096] = {};

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
    if (path == nullptr || strlen(path) >= sizeof entry - kVariableLength) return;
    memcpy(entry, kVariable, kVariableLength);
    strcpy(entry + kVariableLength, path);
    if (char** known = find_variable(kVariable, kVariableLength)) {
        if (!is_of_another_tool(*known + kVariableLength, path)) *known = entry;
        return;
    }
    add_variable(entry);
}

}  // namespace gpushim::shim
