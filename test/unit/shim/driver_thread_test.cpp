// The thread on which we call the driver, and forks.
#include "shim/driver_thread.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>

using namespace gpushim::shim;

namespace {

constexpr int64_t kSecond = 1'000'000'000;
std::atomic<int> working = 0;

void work_for(void* us) {
    working = 1;
    usleep(*static_cast<useconds_t*>(us));
    working = 0;
}

// What a child sees of the work at the moment of the fork.
int seen_by_a_child() {
    const pid_t child = fork();
    if (child == 0) _exit(working);
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

void begin(useconds_t& us) {
    REQUIRE(give_to_driver_thread(work_for, &us));
    while (working == 0) usleep(100);
}

}  // namespace

TEST_CASE("a fork is never in the middle of our calls into the driver", "[driver_thread]") {
    start_driver_thread();
    useconds_t us = 5'000;
    for (int i = 0; i < 5; ++i) {
        begin(us);
        CHECK(seen_by_a_child() == 0);
        CHECK(wait_for_driver_thread(kSecond));
    }
    stop_driver_thread();
}

TEST_CASE("a driver that does not answer does not hold a fork up for long", "[driver_thread]") {
    start_driver_thread();
    useconds_t us = 3'000'000;
    begin(us);
    CHECK(seen_by_a_child() == 1);
    CHECK(working == 1);
    CHECK(wait_for_driver_thread(20 * kSecond));
    stop_driver_thread();
}
