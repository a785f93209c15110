// How NCCL finds us, and when we keep out. NCCL_PROFILER_PLUGIN=static_plugin makes NCCL ask the program
// itself, by dlsym, which is ours. We export no ncclProfiler_vN: one of the program's own must stay the one
// that is found, and who asks for something else gets what is there.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../base/own_variables.h"
#include "nccl_plugin.h"
#include "nccl_plugin_tables.h"

namespace gpushim::shim {

constinit std::atomic<bool> offered_to_nccl = false;

namespace {

constexpr char kVariable[] = "NCCL_PROFILER_PLUGIN=";
constexpr size_t kVariableLength = sizeof kVariable - 1;
// NCCL compares without regard to case, so in these letters the value is ours: a traced parent left it.
constexpr char kOwnValue[] = "static_plugin";
constinit char entry[] = "NCCL_PROFILER_PLUGIN=static_plugin";

constexpr char kName[] = "ncclProfiler_v";
constexpr size_t kNameLength = sizeof kName - 1;
constexpr int kNewestAsked = 9;  // of the program's own plug-ins

constinit std::atomic<const char*> refused = nullptr;

void keep_out(const char* why) { refused.store(why, std::memory_order_relaxed); }

// --- start-up ---------------------------------------------------------------------------------------------

// NCCL reads its files of settings before it asks for the variable, and what is in the environment counts
// more: ours must not hide what stands there. Line by line, as NCCL does it.
bool names_plugin(const char* path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    char part[1024];
    size_t matched = 0;  // of the line so far; above the length: this line is another
    bool found = false;
    for (ssize_t size; !found && (size = read(file, part, sizeof part)) > 0;)
        for (ssize_t i = 0; i < size && !found; ++i) {
            if (part[i] == '\n')
                matched = 0;
            else if (matched < kVariableLength)
                matched = part[i] == kVariable[matched] ? matched + 1 : kVariableLength + 1;
            found = matched == kVariableLength;
        }
    close(file);
    return found;
}

bool settings_name_plugin() {
    char path[1024];
    const char* own = getenv("NCCL_CONF_FILE");
    const char* home = getenv("HOME");
    if (own != nullptr && *own != '\0') {
        if (names_plugin(own)) return true;
    } else if (home != nullptr && snprintf(path, sizeof path, "%s/.nccl.conf", home) < int{sizeof path}) {
        if (names_plugin(path)) return true;
    }
    return names_plugin("/etc/nccl.conf");
}

bool is_wanted() {
    const char* text = getenv("GPUSHIM_NCCL_PROFILER");
    return text != nullptr && (strcmp(text, "network") == 0 || strcmp(text, "all") == 0);
}

// --- when NCCL asks ---------------------------------------------------------------------------------------

using Next = void* (*)(void*, const char*);

bool is_plugin(void* library, Next next) {
    char name[kNameLength + 2] = {};
    memcpy(name, kName, kNameLength);
    for (int number = 1; number <= kNewestAsked; ++number) {
        name[kNameLength] = static_cast<char>('0' + number);
        if (next(library, name) != nullptr) return true;
    }
    return false;
}

// Without a profiler, NCCL asks the library of its network plug-in, which is loaded by now.
void* network_plugin(Next next) {
    const char* given = getenv("NCCL_NET_PLUGIN");
    char names[1024];
    if (snprintf(names, sizeof names, "%s,libnccl-net.so", given != nullptr ? given : "") >=
        int{sizeof names})
        return nullptr;
    char* left = names;
    while (const char* name = strsep(&left, ",")) {
        char long_name[1100];
        snprintf(long_name, sizeof long_name, "libnccl-net-%s.so", name);
        for (const char* tried : {name, static_cast<const char*>(long_name)}) {
            void* library = *name == '\0' ? nullptr : dlopen(tried, RTLD_LAZY | RTLD_NOLOAD);
            if (library != nullptr && is_plugin(library, next)) return library;
            if (library != nullptr) dlclose(library);
        }
    }
    return nullptr;
}

// Whose functions the program would have without us: `library` is null where they would be none, so ours.
struct Other {
    void* library;
    const char* where;
};

Other find_other(void* program, Next next) {
    if (is_plugin(program, next)) return {program, "the program has a plug-in of its own"};
    // As NCCL would; it stays open, as the program may be using it.
    if (void* library = dlopen("libnccl-profiler.so", RTLD_NOW | RTLD_LOCAL))
        return {library, "there is a libnccl-profiler.so"};
    if (void* library = network_plugin(next)) return {library, "NCCL's network plug-in is one, too"};
    return {nullptr, nullptr};
}

constinit std::atomic<bool> decided = false;
constinit std::atomic<void*> other_library = nullptr;

// Two threads that come at once find the same.
void decide(void* program, Next next) {
    if (decided.load(std::memory_order_acquire)) return;
    const Other other = find_other(program, next);
    dlerror();
    if (other.library != nullptr) keep_out(other.where);
    other_library.store(other.library, std::memory_order_relaxed);
    decided.store(true, std::memory_order_release);
}

bool is_program(void* handle) {
    void* program = dlopen(nullptr, RTLD_LAZY);
    if (program != nullptr) dlclose(program);
    return handle == program;
}

}  // namespace

void offer_to_nccl() {
    if (!is_wanted()) return;
    if (char** known = find_variable(kVariable, kVariableLength)) {
        if (strcmp(*known + kVariableLength, kOwnValue) != 0) return keep_out("NCCL_PROFILER_PLUGIN is set");
    } else if (settings_name_plugin()) {
        return keep_out("NCCL's file of settings names NCCL_PROFILER_PLUGIN");
    } else if (!add_variable(entry)) {
        return keep_out("there are too many variables in the environment");
    }
    offered_to_nccl.store(true, std::memory_order_relaxed);
}

void* nccl_plugin_of(void* handle, const char* name, Next next) {
    if (next == nullptr || strncmp(name, kName, kNameLength) != 0 || !is_program(handle)) return nullptr;
    decide(handle, next);
    if (void* library = other_library.load(std::memory_order_relaxed)) return next(library, name);
    const char* digit = name + kNameLength;
    return *digit != '\0' && digit[1] == '\0' ? nccl_functions(*digit - '0') : nullptr;
}

NcclPluginState nccl_plugin_state() {
    NcclPluginState state = nccl_view_state();
    state.refused = refused.load(std::memory_order_relaxed);
    return state;
}

}  // namespace gpushim::shim
