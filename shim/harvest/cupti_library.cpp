#include "cupti_library.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstring>

#include "../base/config.h"
#include "../calls/resolve.h"

namespace gpushim::shim {
namespace {

constexpr const char* kNames[] = {"libcupti.so.13", "libcupti.so.12"};
constexpr const char* kInToolkit[] = {"/lib64/", "/extras/CUPTI/lib64/", "/lib/"};
// Of NVIDIA's Python packages: .../site-packages/nvidia/<package>/lib/, since CUDA 13 one package for all.
constexpr const char* kInPackages[] = {"cu13/lib/", "cuda_cupti/lib/"};
constexpr const char* kPackages = "/nvidia/";

bool is_cupti(const std::string& path) {
    return path.compare(path.rfind('/') + 1, sizeof "libcupti.so" - 1, "libcupti.so") == 0;
}

std::vector<std::string> loaded_objects() {
    std::vector<std::string> paths;
    dl_iterate_phdr(
        [](dl_phdr_info* object, size_t, void* into) {
            static_cast<std::vector<std::string>*>(into)->emplace_back(object->dlpi_name);
            return 0;
        },
        &paths);
    return paths;
}

void* open_loaded(const std::vector<std::string>& loaded, std::string& path) {
    const auto found = std::find_if(loaded.begin(), loaded.end(), is_cupti);
    if (found == loaded.end()) return nullptr;
    path = *found;
    return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
}

std::string path_of(void* handle, const std::string& asked) {
    const link_map* map = nullptr;
    return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && *map->l_name != '\0' ? map->l_name : asked;
}

void* open_any(std::string& path) {
    const std::vector<std::string> loaded = loaded_objects();
    if (void* handle = open_loaded(loaded, path)) return handle;
    std::vector<std::string> homes;
    for (const char* home : config.cuda_homes)
        if (*home != '\0') homes.emplace_back(home);
    homes.emplace_back("/usr/local/cuda");
    for (const std::string& place : cupti_places(loaded, homes)) {
        void* handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr) continue;
        path = path_of(handle, place);
        return handle;
    }
    path.clear();
    return nullptr;
}

template <class Function>
void find(void* handle, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym_of_libc()(handle, name));
}

}  // namespace

std::vector<std::string> cupti_places(const std::vector<std::string>& loaded,
                                      const std::vector<std::string>& homes) {
    std::vector<std::string> places;
    const auto add_all = [&](const std::string& folder) {
        for (const char* name : kNames)
            if (const std::string place = folder + name;
                std::find(places.begin(), places.end(), place) == places.end())
                places.push_back(place);
    };
    // The program's own packages first: on a machine with CUDA 13 a program may have brought CUDA 12.
    for (const std::string& object : loaded) {
        const size_t packages = object.rfind(kPackages);
        if (packages == std::string::npos) continue;
        for (const char* folder : kInPackages)
            add_all(object.substr(0, packages + std::strlen(kPackages)) + folder);
    }
    add_all("");
    for (const std::string& home : homes)
        for (const char* folder : kInToolkit) add_all(home + folder);
    return places;
}

CuptiLibrary open_cupti() {
    CuptiLibrary library;
    void* handle = open_any(library.path);
    if (handle == nullptr) {
        library.path.clear();
        return library;
    }
    CuptiCalls& calls = library.calls;
#define GPUSHIM_FIND(name)           \
    find(handle, #name, calls.name); \
    if (calls.name == nullptr && *library.lacks == '\0') library.lacks = #name;
    GPUSHIM_CUPTI_CALLS(GPUSHIM_FIND)
#undef GPUSHIM_FIND
#define GPUSHIM_FIND(name) find(handle, #name, calls.name);
    GPUSHIM_CUPTI_NEWER_CALLS(GPUSHIM_FIND)
#undef GPUSHIM_FIND
    if (calls.cuptiGetVersion == nullptr || calls.cuptiGetVersion(&library.version) != CUPTI_SUCCESS)
        library.version = 0;
    return library;
}

}  // namespace gpushim::shim
