// Other processes: forks of a user of the driver, killed ones, and how a process ends.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "call_counts.h"
#include "core.h"

namespace fork_test {

namespace {

// The exit status of a child that runs `body`; a child may not use the test framework.
template <class Body>
int status_of_child(Body body, pid_t (*how)() = fork) {
    const pid_t child = how();
    REQUIRE(child >= 0);
    if (child == 0) _exit(body());
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

// In a fork of a user of the driver: what it answers, and that it answers at all.
int driver_is_dead() {
    CUstream stream = nullptr;
    int count = 0;
    if (cuInit(0) != CUDA_ERROR_NOT_INITIALIZED) return 1;
    if (cuCtxSynchronize() != CUDA_ERROR_NOT_INITIALIZED) return 2;
    if (cuStreamCreate(&stream, 0) != CUDA_ERROR_NOT_INITIALIZED) return 3;
    if (cuDeviceGetCount(&count) != CUDA_ERROR_NOT_INITIALIZED) return 4;
    return 0;
}

CUresult seen_by_handler = CUDA_ERROR_UNKNOWN;
int report_to = -1;

void ask_at_exit() {
    seen_by_handler = cuCtxSynchronize();
    if (write(report_to, &seen_by_handler, sizeof seen_by_handler) < 0) _exit(9);
}

// What a handler sees that a child registered between cuInit and its first work.
CUresult seen_at_exit() {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        CUcontext context = nullptr;
        CUmodule module = nullptr;
        CUfunction function = nullptr;
        report_to = ends[1];
        cuInit(0);
        std::atexit(ask_at_exit);
        cuCtxCreate_v2(&context, 0, 0);
        cuModuleLoadData(&module, kAnyImage);
        cuModuleGetFunction(&function, module, "f__1us");
        launch(function);
        std::exit(0);
    }
    close(ends[1]);
    CUresult seen = CUDA_ERROR_UNKNOWN;
    REQUIRE(read(ends[0], &seen, sizeof seen) == sizeof seen);
    close(ends[0]);
    waitpid(child, nullptr, 0);
    return seen;
}

}  // namespace

TEST_CASE("a fork of a user of the driver cannot use it, the user can", "[fork][no_emulator]") {
    Timeline timeline;
    make_context();
    CUfunction f = kernel("f__1us");
    CU(launch(f));
    CHECK(status_of_child(driver_is_dead) == 0);
    // Without the handlers that pthread_atfork has of the box, where the C library has that (since 2.34).
    const auto bare_fork = reinterpret_cast<pid_t (*)()>(dlsym(RTLD_DEFAULT, "_Fork"));
    if (bare_fork != nullptr) CHECK(status_of_child(driver_is_dead, bare_fork) == 0);
    CU(cuCtxSynchronize());
    CU(launch(f));
    CHECK(counts_of(timeline, "cuInit") == CallCounts{1, 1, 0});  // the forks' calls are not this process's
    CHECK(counts_of(timeline, "cuStreamCreate") == CallCounts{0, 0, 0});
}

TEST_CASE("a fork before cuInit uses the driver for itself", "[fork]") {
    CHECK(status_of_child([] {
              CUcontext context = nullptr;
              return cuInit(0) == CUDA_SUCCESS && cuCtxCreate_v2(&context, 0, 0) == CUDA_SUCCESS ? 0 : 1;
          }) == 0);
    make_context();
}

TEST_CASE("vfork and exec do not touch the driver", "[fork]") {
    make_context();
    const pid_t child = vfork();
    if (child == 0) {
        execl("/bin/true", "true", nullptr);
        _exit(1);
    }
    int status = 1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CU(cuCtxSynchronize());
}

TEST_CASE("truth and counts survive the kill of the program", "[fork]") {
    box::knobs("GPUSIM_TRUTH=/tmp/gpusim-case-%p.truth");
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        make_context();
        CUfunction f = kernel("f__1us");
        for (int i = 0; i < 100; ++i) launch(f);
        if (write(ends[1], "!", 1) != 1) _exit(1);
        for (;;) pause();
    }
    char ready = 0;
    REQUIRE(read(ends[0], &ready, 1) == 1);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const std::string path = "/tmp/gpusim-case-" + std::to_string(child) + ".truth";
    std::ifstream file(path);
    int lines = 0;
    for (std::string line; std::getline(file, line);) lines += line.compare(0, 7, "kernel\t") == 0;
    CHECK(lines == 100);
    CHECK(counts_of(path, "cuLaunchKernel") == CallCounts{100, 100, 0});
    unlink(path.c_str());
    unlink((path + ".counts").c_str());
}

TEST_CASE("by default the driver is still there for handlers registered after cuInit", "[fork]") {
    CHECK(seen_at_exit() == CUDA_SUCCESS);
}

TEST_CASE("a driver that goes first is gone for them", "[fork]") {
    box::knobs("GPUSIM_EXIT=first");
    CHECK(seen_at_exit() == CUDA_ERROR_DEINITIALIZED);
}

}  // namespace fork_test
