// How long a small program takes from being spawned to being over, under each of the preloads named ("-" is
// none), in turns. Prints the shortest and the median of each, in the order given.
//
//   start COUNT PROGRAM PRELOAD...
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <string>
#include <vector>

#include "driver.h"

namespace {

double spawn_ns(char* program, const std::string& preload) {
    std::string variable = "LD_PRELOAD=" + preload;
    char* arguments[] = {program, nullptr};
    char* environment[] = {preload == "-" ? nullptr : variable.data(), nullptr};
    const int64_t begin_ns = bench::now_ns();
    pid_t child = 0;
    int status = 0;
    if (posix_spawn(&child, program, nullptr, nullptr, arguments, environment) != 0 ||
        waitpid(child, &status, 0) != child || status != 0)
        std::exit(1);
    return static_cast<double>(bench::now_ns() - begin_ns);
}

}  // namespace

int main(int count, char** words) {
    if (count < 4) return 2;
    const int preloads = count - 3;
    std::vector<std::vector<double>> took_ns(static_cast<size_t>(preloads));
    for (int round = 0; round < std::atoi(words[1]); ++round)
        for (int i = 0; i < preloads; ++i)
            took_ns[static_cast<size_t>(i)].push_back(spawn_ns(words[2], words[3 + i]));
    for (size_t i = 0; i < took_ns.size(); ++i) {
        std::sort(took_ns[i].begin(), took_ns[i].end());
        std::printf("%zu_min_ns %.0f %zu_median_ns %.0f ", i, took_ns[i].front(), i,
                    took_ns[i][took_ns[i].size() / 2]);
    }
    std::printf("\n");
    return 0;
}
