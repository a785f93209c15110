// What other threads of ours are doing, as whoever waits for them asks.
#include "shim/base/own_thread.h"

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

struct Told {
    std::atomic<uint32_t> begins = 0, ends = 0;
    void (*work)();
};

void main_of(void* told) {
    auto& of = *static_cast<Told*>(told);
    of.begins.store(1);
    of.work();
    of.ends.store(1);
}

// Whether `holds` does at some time while such a thread works.
bool at_some_time(void (*work)(), bool (*holds)()) {
    static Told told[8];  // threads are detached
    static size_t many = 0;
    Told& of = told[many++];
    of.work = work;
    REQUIRE(start_own_thread({"test", main_of, &of}) == 0);
    bool was = false;
    while (of.begins.load() == 0) nanosleep(&kMoment, nullptr);
    while (of.ends.load() == 0) was |= holds();
    return was;
}

// As the kernel sees a thread that waits for a disk: it cannot be interrupted until its child has ended.
void waits_like_for_a_disk() {
    const pid_t child = vfork();
    if (child == 0) {
        const timespec half = {0, 500'000'000};
        nanosleep(&half, nullptr);
        _exit(0);
    }
    waitpid(child, nullptr, 0);
}

void waits_for_somebody() {
    std::atomic<uint32_t> word = 0;
    wait_while(word, 0, 300'000'000);
}

void waits_long_for_somebody() {
    for (int i = 0; i < 3; ++i) waits_for_somebody();
}

}  // namespace

TEST_CASE("a thread that waits for a disk works, and one that waits for somebody does not",
          "[own_thread][alone][no_emulator]") {
    CHECK(at_some_time(waits_like_for_a_disk, another_own_thread_is_at_work));
    // Whatever is seen at its ends: in between there is a look at which it sleeps.
    CHECK(at_some_time(waits_long_for_somebody, [] { return !another_own_thread_is_at_work(); }));
    CHECK(at_some_time(waits_like_for_a_disk,
                       [] { return another_own_thread_is_at_work() && !another_own_thread_is_runnable(); }));
}

}  // namespace own_thread_test
