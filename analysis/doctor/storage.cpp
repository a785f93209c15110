// Where traces and rings go: what a kill would cost, and whether there is room.
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "../process/output_folder.h"
#include "../text/units.h"
#include "check.h"

namespace gpushim::analysis::check_storage {

namespace fs = std::filesystem;

namespace {

constexpr double kMinFree = 256.0 * 1024 * 1024;     // what GPUSHIM_MIN_FREE_MB is by default
constexpr double kSmallTmpfs = 256.0 * 1024 * 1024;  // below this rings are private memory

struct Space {
    double size, free;
};

Space space_of(const std::string& folder) {
    struct statvfs status;
    if (statvfs(folder.c_str(), &status) != 0) return {0, 0};
    const auto block = static_cast<double>(status.f_frsize);
    return {block * static_cast<double>(status.f_blocks), block * static_cast<double>(status.f_bavail)};
}

double least_free() {
    const char* text = std::getenv("GPUSHIM_MIN_FREE_MB");
    return text != nullptr ? std::atof(text) * 1024 * 1024 : kMinFree;
}

// Missing folders are made: what counts is the first above them that is there.
fs::path nearest_existing(fs::path folder) {
    std::error_code none;
    while (!fs::exists(folder, none) && folder.has_relative_path())
        folder = folder.has_parent_path() ? folder.parent_path() : fs::path(".");
    return folder;
}

void look_at_output(std::vector<CheckFinding>& findings) {
    const char* set = std::getenv("GPUSHIM_OUT");
    const std::string pattern = set != nullptr ? set : "";
    const std::string folder = output_folder(pattern).string();
    const std::string there = nearest_existing(folder).string();
    if (fs::path(pattern).parent_path().string().find('%') != std::string::npos)
        findings.push_back({CheckVerdict::fine, "output", pattern + " (made for each process)"});
    else if (std::error_code none; !fs::is_directory(there, none) || access(there.c_str(), W_OK) != 0)
        findings.push_back({CheckVerdict::blind, "output", there + " is not writable: set GPUSHIM_OUT"});
    else if (const double free = space_of(there).free; free < least_free())
        findings.push_back({CheckVerdict::limited, "output",
                            folder + " has only " + bytes_text(free) +
                                " free: nothing is written until there is more (GPUSHIM_MIN_FREE_MB)"});
    else
        findings.push_back({CheckVerdict::fine, "output", folder + ", " + bytes_text(free) + " free"});
}

void look(const Examined&, std::vector<CheckFinding>& findings) {
    look_at_output(findings);
    const std::string root = "/dev/shm";
    const Space space = space_of(root);
    if (access(root.c_str(), W_OK) != 0)
        findings.push_back({CheckVerdict::limited, "rings",
                            root + " is not writable: a killed process loses what was not yet written"});
    else if (space.size < kSmallTmpfs)
        findings.push_back(
            {CheckVerdict::limited, "rings",
             root + " has only " + memory_text(space.size) +
                 ": a killed process loses what was not yet written (docker run --shm-size=1g)"});
    else
        findings.push_back(
            {CheckVerdict::fine, "rings",
             root + ", " + memory_text(space.size) + ": nothing is lost when a program is killed"});
}

constexpr Check kCheck = {20, look};
const CheckRegistration kRegistration(kCheck);

}  // namespace

}  // namespace gpushim::analysis::check_storage
