// What our other threads are doing, as a thread that waits for them asks.
#include "shim/base/own_thread.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>

#include "shim/base/sanitized.h"
#include "shim/base/system.h"

namespace own_thread_test {

using namespace gpushim::shim;

namespace {

constexpr timespec kMoment = {0, 20'000'000};
constexpr int kPatience = 6000;  // moments

std::atomic<uint32_t> may_go = 0, has_ended = 0;

#if !UNDER_THREAD_SANITIZER
int ends[2];

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
#endif

void waits_for_somebody(void*) {
    while (may_go.load() == 0) wait_while(may_go, 0, int64_t{kPatience} * kMoment.tv_nsec);
    has_ended.fetch_add(1);
}

template <class Holds>
bool until(Holds holds) {
    for (int moment = 0; moment < kPatience; ++moment, nanosleep(&kMoment, nullptr))
        if (holds()) return true;
    return false;
}

}  // namespace

TEST_CASE("a thread that waits for somebody does not work", "[own_thread][alone]") {
    const uint32_t before = has_ended.load();
    REQUIRE(start_own_thread({"test", waits_for_somebody}) == 0);
    CHECK(until([] { return !another_own_thread_is_at_work(); }));
    may_go.store(1);
    wake_all(may_go);
    CHECK(until([&] { return has_ended.load() == before + 1; }));
}

#if !UNDER_THREAD_SANITIZER  // vfork is a fork there
TEST_CASE("a thread that waits for a disk works", "[own_thread][alone][no_emulator]") {
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    const uint32_t before = has_ended.load();
    REQUIRE(start_own_thread({"test", waits_like_for_a_disk}) == 0);
    CHECK(until([] { return another_own_thread_is_at_work() && !another_own_thread_is_runnable(); }));
    close(ends[1]);
    CHECK(until([&] { return has_ended.load() == before + 1; }));
    close(ends[0]);
}
#endif

}  // namespace own_thread_test
