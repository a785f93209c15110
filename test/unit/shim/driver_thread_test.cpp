// The thread on which we call the driver, and forks.
#include "shim/harvest/driver_thread.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <new>

#include "shim/base/system.h"

namespace driver_thread_test {

using namespace gpushim::shim;

namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kLongestForkNs = 20 * kMillisecond;
constexpr Patience kLong = {20 * kSecond, 20 * kSecond};
// As at the end of a program.
constexpr Patience kUnlessShortOfAProcessor = {10 * kMillisecond, 20 * kSecond};
std::atomic<int> working = 0;
std::atomic<bool> begun = false;  // stays, for the work may be over before anyone looks

void work_for(void* us) {
    working = 1;
    begun = true;
    usleep(*static_cast<useconds_t*>(us));
    working = 0;
}

struct Fork {
    int seen;  // what the child saw of the work
    int64_t took_ns;
};

Fork fork_beside_it() {
    const int64_t from_ns = clock_ns(CLOCK_MONOTONIC);
    const pid_t child = fork();
    if (child == 0) _exit(working);
    const int64_t took_ns = clock_ns(CLOCK_MONOTONIC) - from_ns;
    int status = 0;
    waitpid(child, &status, 0);
    return {WEXITSTATUS(status), took_ns};
}

void begin(useconds_t& us) {
    begun = false;
    REQUIRE(give_to_driver_thread(work_for, &us));
    while (!begun) usleep(100);
}

}  // namespace

TEST_CASE("a fork is never in the middle of our calls into the driver", "[driver_thread]") {
    start_driver_thread();
    useconds_t us = 5'000;
    for (int i = 0; i < 5; ++i) {
        begin(us);
        const Fork fork = fork_beside_it();
        // On a busy machine the work may take longer than a fork waits.
        if (fork.seen != 0) CHECK(fork.took_ns >= kLongestForkNs);
        CHECK(wait_for_driver_thread(kLong));
    }
    stop_driver_thread();
}

TEST_CASE("a driver that does not answer does not hold a fork up for long", "[driver_thread]") {
    start_driver_thread();
    useconds_t us = 3'000'000;
    begin(us);
    CHECK(fork_beside_it().seen == 1);
    CHECK(working == 1);
    CHECK(wait_for_driver_thread(kLong));
    stop_driver_thread();
}

TEST_CASE("a driver that computes is waited for, one that stands still is not", "[driver_thread]") {
    start_driver_thread();
    constexpr auto compute = [](void*) {
        begun = true;
        const int64_t from_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        while (clock_ns(CLOCK_THREAD_CPUTIME_ID) - from_ns < 100 * kMillisecond) {
        }
    };
    begun = false;
    REQUIRE(give_to_driver_thread(compute, nullptr));
    // Its code may have to be read first, and a thread that waits for that stands still.
    while (!begun) usleep(100);
    CHECK(wait_for_driver_thread(kUnlessShortOfAProcessor));
    static std::atomic<uint32_t> answered = 0;
    constexpr auto stand_still = [](void*) {
        while (!answered) wait_while(answered, 0, 20 * kSecond);
    };
    REQUIRE(give_to_driver_thread(stand_still, nullptr));
    CHECK_FALSE(wait_for_driver_thread(kUnlessShortOfAProcessor));
    answered = 1;
    wake_all(answered);
    CHECK(wait_for_driver_thread(kLong));
    stop_driver_thread();
}

TEST_CASE("a driver's thread that ended for want of memory is not waited for", "[driver_thread]") {
    start_driver_thread();
    REQUIRE(give_to_driver_thread([](void*) { throw std::bad_alloc(); }, nullptr));
    const int64_t from_ns = clock_ns(CLOCK_MONOTONIC);
    CHECK_FALSE(wait_for_driver_thread(kLong));
    CHECK_FALSE(give_to_driver_thread([](void*) {}, nullptr));
    CHECK_FALSE(wait_for_driver_thread(kLong));
    CHECK(clock_ns(CLOCK_MONOTONIC) - from_ns < kLong.most_ns);
    stop_driver_thread();
}

}  // namespace driver_thread_test
