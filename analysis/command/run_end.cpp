#include "run_end.h"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iterator>

#include "../process/library.h"
#include "../process/reach.h"
#include "../terminal/stderr_line.h"
#include "../text/units.h"

namespace gpushim::analysis {

namespace fs = std::filesystem;

namespace {

constexpr size_t kMostNamed = 5;

// Programs that start others without this environment, or elsewhere.
constexpr const char* kWrappers[] = {"sudo",   "doas",    "su",      "ssh",         "docker",
                                     "podman", "nerdctl", "kubectl", "systemd-run", "flatpak"};

// Quoted where a shell would take it apart.
std::string word_of(const std::string& text) {
    const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
        return std::isalnum(c) || c >= 0x80 ||
               std::string_view("/._-+=:,@%").find(static_cast<char>(c)) != std::string_view::npos;
    });
    if (plain) return text;
    std::string quoted = "'";
    for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
}

// As a person who is here would write it.
fs::path from_here(const fs::path& path) {
    std::error_code none;
    const fs::path near = fs::proximate(path, none);
    return none || near.empty() || *near.begin() == ".." ? path : near;
}

std::string counted(size_t count, const char* one, const char* many) {
    return count_text(static_cast<int64_t>(count)) + " " + (count == 1 ? one : many);
}

// The words after `report`: a trace that is alone by its name, else the folders.
std::string to_report(std::span<const LeftTrace> traces) {
    if (traces.size() == 1) return word_of(from_here(traces[0].path).string());
    std::vector<std::string> folders;
    for (const LeftTrace& trace : traces) {
        const std::string folder = word_of(from_here(trace.path.parent_path()).string());
        if (std::find(folders.begin(), folders.end(), folder) == folders.end()) folders.push_back(folder);
    }
    std::string text;
    for (size_t i = 0; i < std::min(folders.size(), kMostNamed); ++i)
        text += (i == 0 ? "" : " ") + folders[i];
    return folders.size() > kMostNamed ? text + " …" : text;
}

std::string own_word() {
    std::error_code none;
    const std::string found = found_on_path("gpushim");
    if (!found.empty() && fs::equivalent(found, program_path(), none)) return "gpushim";
    return word_of(from_here(program_path()).string());
}

std::string why_no_driver() {
    if (void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL); driver != nullptr) {
        dlclose(driver);
        return "";
    }
    std::string why = "no driver (libcuda.so.1) can be loaded here";
    // In a checkout: above build/, or above a folder of another compiler's build in it.
    fs::path folder = program_path().parent_path();
    for (int up = 0; up < 3 && folder != folder.parent_path(); ++up) {
        folder = folder.parent_path();
        std::error_code none;
        const fs::path script = folder / "scripts" / "with-sim";
        if (fs::is_regular_file(script, none))
            return why + "; `" + word_of(from_here(script).string()) + " " + own_word() +
                   " run -- …` runs it on the simulated box";
    }
    return why;
}

// Whether lines that are no complaint are wanted: they are, unless GPUSHIM_LOG says less than it does by
// default.
bool is_silent() {
    const char* level = std::getenv("GPUSHIM_LOG");
    return level != nullptr && (level == std::string_view("off") || level == std::string_view("error"));
}

double size_of(const fs::path& trace) {
    double bytes = 0;
    for (const char* suffix : {"", "-wal"}) {
        std::error_code none;
        const auto size = fs::file_size(trace.string() + suffix, none);
        if (!none) bytes += static_cast<double>(size);
    }
    return bytes;
}

}  // namespace

std::string traces_text(std::span<const LeftTrace> traces, size_t failed, const std::string& program) {
    std::string text = counted(traces.size(), "trace: ", "traces: ");
    for (size_t i = 0; i < std::min(traces.size(), kMostNamed); ++i)
        text += (i == 0 ? "" : ", ") + from_here(traces[i].path).string() + " (" +
                bytes_text(traces[i].bytes) + ")";
    if (traces.size() > kMostNamed)
        text += " and " + count_text(static_cast<int64_t>(traces.size() - kMostNamed)) + " more";
    if (failed > 0)
        text += "; " + counted(failed, "process", "processes") +
                " could not make a trace (a line above says why)";
    return text + "; next: " + program + " report " + to_report(traces);
}

std::vector<std::string> why_no_trace(const RunLeft& left, std::span<char* const> command) {
    std::vector<std::string> known;
    const auto set_to = [](const char* variable) {
        const char* value = std::getenv(variable);
        return std::string(value != nullptr ? value : "");
    };
    if (const std::string disabled = set_to("GPUSHIM_DISABLE"); !disabled.empty() && disabled != "0")
        return {"GPUSHIM_DISABLE=" + disabled + " switches the library off"};
    if (left.failed > 0)
        known.push_back(counted(left.failed, "process", "processes") +
                        " made a CUDA context and could not make a trace (a line above says why)");
    std::string ranks;
    for (const std::string& rank : left.left_out) ranks += (ranks.empty() ? "" : ", ") + rank;
    if (!ranks.empty())
        known.push_back("GPUSHIM_RANKS=" + set_to("GPUSHIM_RANKS") + " leaves out rank " + ranks);
    if (!known.empty()) return known;

    const std::string file = command.empty() ? "" : found_on_path(command[0]);
    const std::string name = fs::path(file).filename().string();
    if (std::find(std::begin(kWrappers), std::end(kWrappers), name) != std::end(kWrappers))
        known.push_back(name + " starts programs without LD_PRELOAD: put `gpushim run --` behind it");
    else if (const Reach reach = reach_of(file); !file.empty() && !reach.reached)
        known.push_back(reach.text);
    if (const std::string why = why_no_driver(); !why.empty()) known.push_back(why);
    return known;
}

std::string nothing_text(const std::vector<std::string>& known, const std::string& program) {
    std::string why;
    for (const std::string& clause : known) why += (why.empty() ? "" : "; ") + clause;
    if (known.empty())
        why =
            "no process here made a CUDA context. Usually the program makes no CUDA call, is linked "
            "statically, or is started by something that drops LD_PRELOAD (sudo, env -i, a container, "
            "another machine); `" +
            program + " doctor -- PROGRAM` says more";
    return "nothing was traced: " + why;
}

void tell_end_of_run(const RunLeft& left, std::span<char* const> command) {
    if (is_silent()) return;
    std::vector<LeftTrace> traces;
    for (const fs::path& path : left.traces) traces.push_back({path, size_of(path)});
    stderr_line(traces.empty() ? nothing_text(why_no_trace(left, command), own_word())
                               : traces_text(traces, left.failed, own_word()));
}

}  // namespace gpushim::analysis
