#include "plugin_library.h"

#include <dlfcn.h>
#include <strings.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "engine/knobs.h"

namespace gpusim::nccl::profiler {
namespace {

struct Loaded {
    std::mutex mutex;
    void* library = nullptr;
    Plugin plugin;
    int users = 0;
    bool has_failed = false;
};

Loaded& loaded() {
    static auto* const one = new Loaded;
    return *one;
}

// Any part of that word from its beginning stands for the program itself.
void* open_library(const std::string& name) {
    if (name.empty()) return nullptr;
    const bool is_static = strncasecmp(name.c_str(), "STATIC_PLUGIN", name.size()) == 0;
    return dlopen(is_static ? nullptr : name.c_str(), RTLD_NOW | RTLD_LOCAL);
}

bool is_plain_word(const std::string& name) {
    const bool is_library = name.starts_with("lib") && name.ends_with(".so");
    return !name.empty() && name.find('/') == std::string::npos && !is_library;
}

void* find_library() {
    const char* given = std::getenv("NCCL_PROFILER_PLUGIN");
    const std::string name = given != nullptr ? given : "";
    if (strcasecmp(name.c_str(), "none") == 0) return nullptr;
    void* library = open_library(name.empty() ? "libnccl-profiler.so" : name);
    if (library == nullptr && is_plain_word(name)) library = open_library("libnccl-profiler-" + name + ".so");
    return library;
}

Plugin ask(void* library) {
    for (int interface = static_cast<int>(knobs().nccl_interface); interface >= 1; --interface) {
        const std::string symbol = "ncclProfiler_v" + std::to_string(interface);
        if (void* found = dlsym(library, symbol.c_str()))
            return {interface, static_cast<void* const*>(found)};
    }
    return {};
}

void load(Loaded& all) {
    all.library = find_library();
    if (all.library != nullptr) all.plugin = ask(all.library);
    if (all.plugin.interface != 0) return;
    all.has_failed = true;
    if (all.library != nullptr) dlclose(all.library);
    all.library = nullptr;
}

}  // namespace

Plugin take_plugin() {
    Loaded& all = loaded();
    const std::lock_guard guard(all.mutex);
    if (all.has_failed || knobs().nccl_interface == 0) return {};
    if (all.users == 0) load(all);
    if (!all.has_failed) ++all.users;
    return all.plugin;
}

void drop_plugin() {
    Loaded& all = loaded();
    const std::lock_guard guard(all.mutex);
    if (all.users == 0 || --all.users != 0) return;
    dlclose(all.library);
    all.library = nullptr;
    all.plugin = {};
}

}  // namespace gpusim::nccl::profiler
