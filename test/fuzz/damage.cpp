// Damages seeds by itself and gives them to a target, one after the other in a child process: cut off at
// every byte, single bits turned over, bytes overwritten, pieces repeated. Whoever crashes, takes more than
// LIMIT_S seconds of a processor or more memory than LIMIT_MB fails, and its input is kept.
//
//   damage                                       lists the targets
//   damage TARGET INPUTS SECONDS [SEED_FILE…]    at most so many, for at most so long
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "shim/base/sanitized.h"
#include "target.h"

namespace {

constexpr size_t kMostBytes = 4 << 20;
constexpr size_t kCutEverywhere = 4096;  // bytes of a seed that is cut off at every byte
constexpr rlimit kMostMemory = {512 << 20, 512 << 20};
// An import takes nearly 2 s with a sanitizer and without the optimiser, whatever it reads.
constexpr int kLimit_s = UNDER_ADDRESS_SANITIZER ? 10 : 2;

// What the child is at: the parent reads it when the child is gone.
struct Shared {
    size_t inputs, size;
    int64_t longest_ns;
    long peak_kb;
    char input[kMostBytes];
};
Shared* shared = nullptr;

int64_t cpu_ns() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

void give(const fuzz::Target& target, std::string_view bytes) {
    const size_t size = std::min(bytes.size(), kMostBytes);
    std::copy_n(bytes.data(), size, shared->input);
    shared->size = size;
    // Of the processor's time, so that a busy machine fails nobody.
    const itimerval limit = {{0, 0}, {kLimit_s, 0}};
    setitimer(ITIMER_PROF, &limit, nullptr);
    const int64_t began_ns = cpu_ns();
    target.run({shared->input, size});
    shared->longest_ns = std::max(shared->longest_ns, cpu_ns() - began_ns);
    ++shared->inputs;
}

std::string damaged(std::string bytes, std::mt19937_64& chance) {
    for (uint64_t times = 1 + chance() % 4; times > 0 && !bytes.empty(); --times) {
        const size_t place = chance() % bytes.size(), length = 1 + chance() % 8;
        switch (chance() % 5) {
            case 0:
            case 1:
                bytes[place] = static_cast<char>(bytes[place] ^ 1 << chance() % 8);
                break;
            case 2:
                for (size_t i = place; i < std::min(bytes.size(), place + length); ++i)
                    bytes[i] = static_cast<char>(chance());
                break;
            case 3:
                bytes.erase(place, length);
                break;
            default:
                bytes.insert(place, bytes.substr(chance() % bytes.size(), length * length));
        }
    }
    return bytes;
}

struct Limits {
    size_t inputs;
    std::chrono::steady_clock::time_point end;

    // One more, of so much of all of it?
    bool allow(size_t part) const {
        return shared->inputs < inputs / part && std::chrono::steady_clock::now() < end;
    }
};

// First the seeds as they are, then cut off, then damaged at random: always the same ones.
void give_all(const fuzz::Target& target, const std::vector<std::string>& seeds, const Limits& limits) {
    for (const std::string& seed : seeds) give(target, seed);
    for (const std::string& seed : seeds)
        for (size_t at = 0; at < std::min(seed.size(), kCutEverywhere) && limits.allow(2); ++at)
            give(target, std::string_view(seed).substr(0, at));
    std::mt19937_64 chance(8);
    while (limits.allow(1)) give(target, damaged(seeds[chance() % seeds.size()], chance));
}

// stdout of commands goes nowhere; what is wrong stays on stderr.
void be_quiet() {
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    if (std::getenv("FUZZ_LOUD") == nullptr) dup2(nowhere, STDERR_FILENO);
}

int keep(const fuzz::Target& target, int status) {
    const std::string place = std::string("crash-") + target.name;
    std::ofstream(place, std::ios::binary).write(shared->input, static_cast<std::streamsize>(shared->size));
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    std::printf("%s: input %zu: %s; it is in %s\n", target.name, shared->inputs + 1,
                signal == SIGPROF ? "over the limit of time"
                : signal != 0     ? strsignal(signal)
                                  : "ended",
                place.c_str());
    return 1;
}

std::vector<std::string> read_seeds(int count, char** files) {
    std::vector<std::string> seeds;
    for (int i = 0; i < count; ++i) {
        std::ifstream file(files[i], std::ios::binary);
        seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    if (seeds.empty()) seeds.emplace_back("seed");
    return seeds;
}

}  // namespace

int main(int count, char** words) {
    if (count < 4) {
        for (const fuzz::Target& target : fuzz::targets())
            std::printf("%s\t%d\t%s\n", target.name, target.dearer, target.what);
        return 0;
    }
    const fuzz::Target& target = fuzz::target_named(words[1]);
    const std::vector<std::string> seeds = read_seeds(count - 4, words + 4);
    shared = static_cast<Shared*>(
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    const pid_t child = fork();
    if (child == 0) {
        be_quiet();
        // AddressSanitizer's shadow takes terabytes.
        if (!UNDER_ADDRESS_SANITIZER) setrlimit(RLIMIT_AS, &kMostMemory);
        const std::chrono::seconds longest(std::strtoll(words[3], nullptr, 10));
        give_all(target, seeds,
                 {std::strtoull(words[2], nullptr, 10), std::chrono::steady_clock::now() + longest});
        rusage used;
        getrusage(RUSAGE_SELF, &used);
        shared->peak_kb = used.ru_maxrss;
        std::exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) return keep(target, status);
    std::printf("%s: %zu inputs, the longest %lld ms, %ld MB\n", target.name, shared->inputs,
                static_cast<long long>(shared->longest_ns / 1'000'000), shared->peak_kb / 1024);
    return 0;
}
