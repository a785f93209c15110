// What other threads of ours are doing, as a thread that waits for them asks.
#include "shim/base/own_thread.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>

#include "shim/base/system.h"

namespace own_thread_test {

using namespace gpushim::shim;

namespace {

constexpr timespec kMoment = {0, 20'000'000};
constexpr int kPatience = 6000;  // moments

int ends[2];
std::atomic<uint32_t> may_go = 0, has_ended = 0;

// As the kernel sees a thread that waits for a disk: it cannot be interrupted until its child has ended.
void waits_like_for_a_disk(void*) {
    const pid_t child = vfork();
    if (child == 0) {
        char none;
        close(ends[1]);
        const ssize_t nothing = read(ends[0], &none, 1);
        _exit(nothing == 0 ? 0 : 1);
    }
    waitpid(child, nullptr, 0);
    has_ended.fetch_add(1);
}

void waits_for_somebody(void*) {
    while (may_go.load() == 0) wait_while(may_go, 0, int64_t{kPatience} * kMoment.tv_nsec);
    has_ended.fetch_add(1);
}

bool until(bool (*holds)()) {
    for (int moment = 0; moment < kPatience; ++moment, nanosleep(&kMoment, nullptr))
        if (holds()) return true;
    return false;
}

}  // namespace

TEST_CASE("a thread that waits for a disk works, and one that waits for somebody does not",
          "[own_thread][alone][no_emulator]") {
    REQUIRE(start_own_thread({"test", waits_for_somebody}) == 0);
    CHECK(until([] { return !another_own_thread_is_at_work(); }));
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    REQUIRE(start_own_thread({"test", waits_like_for_a_disk}) == 0);
    CHECK(until([] { return another_own_thread_is_at_work() && !another_own_thread_is_runnable(); }));
    close(ends[1]);
    may_go.store(1);
    wake_all(may_go);
    CHECK(until([] { return has_ended.load() == 2; }));
    close(ends[0]);
}

}  // namespace own_thread_test
