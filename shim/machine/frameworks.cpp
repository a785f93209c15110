#include "frameworks.h"

#include <link.h>

#include <cstdio>
#include <cstring>

namespace gpushim::shim {

namespace {

struct Library {
    const char *begins, *framework;  // the name of its file, without folders
};
constexpr Library kLibraries[] = {
    {"libpython", "python"},          {"libtorch_", "pytorch"},  // cpu, cuda, python
    {"libtensorflow_", "tensorflow"}, {"_pywrap_tensorflow", "tensorflow"},
    {"libjax_common", "jax"},         {"xla_extension", "jax"},
    {"xla_cuda_plugin", "jax"},
};
constexpr size_t kCount = sizeof kLibraries / sizeof *kLibraries;

bool begins(const char* text, const char* with) { return strncmp(text, with, strlen(with)) == 0; }

int note(dl_phdr_info* info, size_t, void* data) {
    if (info->dlpi_name == nullptr) return 0;
    const char* slash = strrchr(info->dlpi_name, '/');
    const char* file = slash != nullptr ? slash + 1 : info->dlpi_name;
    for (size_t i = 0; i < kCount; ++i)
        if (begins(file, kLibraries[i].begins)) static_cast<bool*>(data)[i] = true;
    return 0;
}

}  // namespace

void list_frameworks(char* to, size_t size) {
    bool is_loaded[kCount] = {};
    dl_iterate_phdr(note, is_loaded);
    size_t used = 0;
    for (size_t i = 0; i < kCount; ++i) {
        const char* name = kLibraries[i].framework;
        const size_t bytes = strlen(name) + (used > 0 ? 1 : 0);
        if (!is_loaded[i] || used + bytes >= size || (used > 0 && strstr(to, name) != nullptr)) continue;
        snprintf(to + used, size - used, "%s%s", used > 0 ? "," : "", name);
        used += bytes;
    }
    if (used == 0) snprintf(to, size, "none");
}

}  // namespace gpushim::shim
