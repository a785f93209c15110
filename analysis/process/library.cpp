#include "library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "../failure.h"

namespace gpushim::analysis {

namespace fs = std::filesystem;

namespace {

constexpr char kName[] = "libgpushim.so";

struct Pipe {
    Pipe() {
        if (pipe2(ends_, O_CLOEXEC) != 0) throw Failure("cannot make a pipe", kIncomplete);
    }
    ~Pipe() {
        close(ends_[0]);
        if (ends_[1] >= 0) close(ends_[1]);
    }
    std::string read_all() {
        close(ends_[1]);
        ends_[1] = -1;
        std::string text;
        char part[512];
        for (ssize_t got; (got = read(ends_[0], part, sizeof part)) > 0;)
            text.append(part, static_cast<size_t>(got));
        return text;
    }
    int ends_[2];
};

// Loaded once and kept: it cannot be unloaded. It does nothing before a first context, and there is none
// here. The loader says once why it fails.
struct Library {
    Library() : handle(dlopen(library_path().c_str(), RTLD_NOW | RTLD_LOCAL)) {
        if (handle == nullptr) why = dlerror();
    }
    void* handle;
    std::string why;
};

const Library& library() {
    static const Library only;
    return only;
}

}  // namespace

fs::path program_path() { return fs::read_symlink("/proc/self/exe"); }

fs::path library_path() {
    const fs::path here = program_path().parent_path();
    for (const fs::path& path : {here / kName, here.parent_path() / "lib" / kName}) {
        if (!fs::exists(path)) continue;
        if (path.string().find_first_of(" :") != std::string::npos)
            throw Failure(path.string() +
                          ": LD_PRELOAD cannot hold a path with a space or colon; move gpushim elsewhere");
        return path;
    }
    throw Failure(std::string(kName) + " is neither beside " + program_path().string() +
                  " nor in ../lib; run `make`, or install both");
}

std::string preload_with(const fs::path& library) {
    const char* before = std::getenv("LD_PRELOAD");
    return library.string() + (before != nullptr && *before != 0 ? ":" + std::string(before) : "");
}

std::string why_not_loaded(const fs::path& library) {
    Pipe said;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, said.ends_[1], STDERR_FILENO);
    const std::string program = program_path().string(), preload = "LD_PRELOAD=" + library.string();
    std::string probe(kProbe);
    char* const words[] = {const_cast<char*>(program.c_str()), probe.data(), nullptr};
    // The user's own library path stays: it decides what the loader finds.
    std::string path = "LD_LIBRARY_PATH=";
    if (const char* set = std::getenv("LD_LIBRARY_PATH")) path += set;
    char* const environment[] = {const_cast<char*>(preload.c_str()), path.data(), nullptr};
    pid_t child = -1;
    const int error = posix_spawn(&child, program.c_str(), &actions, nullptr, words, environment);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) return "cannot start a program to try it";
    std::string text = said.read_all();  // the loader's lines, as one
    std::replace(text.begin(), text.end(), '\n', ' ');
    text.erase(text.find_last_not_of(' ') + 1);
    int status = 0;
    waitpid(child, &status, 0);
    if (status == 0) return text;
    return text.empty() ? "a program does not start with the library (status " + std::to_string(status) + ")"
                        : text;
}

void* library_symbol(const char* name, std::string& why) {
    try {
        if (library().handle == nullptr) return why = library().why, nullptr;
        void* const symbol = dlsym(library().handle, name);
        if (symbol == nullptr) why = dlerror();
        return symbol;
    } catch (const Failure& failure) {
        why = failure.what();
        return nullptr;
    }
}

std::vector<Hook> hooks() {
    std::vector<Hook> all;
    std::string why;
    const auto row = library_function<int(unsigned, const char**, const char**)>("gpushim_hook", why);
    const char *name = nullptr, *kind = nullptr;
    for (unsigned i = 0; row != nullptr && row(i, &name, &kind) != 0; ++i) all.push_back({name, kind});
    return all;
}

}  // namespace gpushim::analysis
