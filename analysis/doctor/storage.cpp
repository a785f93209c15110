// Where traces and rings go: what a kill would cost, and whether there is room.
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "../text/units.h"
#include "check.h"

namespace gpushim::analysis {

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

void look_at_output(std::vector<CheckFinding>& findings) {
    const char* pattern = std::getenv("GPUSHIM_OUT");
    std::string folder = pattern != nullptr ? std::filesystem::path(pattern).parent_path().string() : ".";
    if (folder.empty()) folder = ".";
    if (folder.find('%') != std::string::npos)
        findings.push_back({CheckVerdict::fine, "output", std::string(pattern) + " (made for each process)"});
    else if (access(folder.c_str(), W_OK) != 0)
        findings.push_back({CheckVerdict::blind, "output", folder + " is not writable: set GPUSHIM_OUT"});
    else if (const double free = space_of(folder).free; free < least_free())
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
                            root + " is not writable: a kill costs what was not yet written"});
    else if (space.size < kSmallTmpfs)
        findings.push_back({CheckVerdict::limited, "rings",
                            root + " has only " + memory_text(space.size) +
                                ": a kill costs what was not yet written (docker run --shm-size=1g)"});
    else
        findings.push_back(
            {CheckVerdict::fine, "rings",
             root + ", " + memory_text(space.size) + ": nothing is lost when a program is killed"});
}

constexpr Check kCheck = {20, look};
const CheckRegistration kRegistration(kCheck);

}  // namespace

}  // namespace gpushim::analysis
