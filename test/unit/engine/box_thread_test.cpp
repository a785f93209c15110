#include "engine/box_thread.h"

#include <pthread.h>
#include <signal.h>

#include <catch2/catch.hpp>
#include <string>
#include <thread>

namespace box_thread_test {

using namespace gpusim;

namespace {

WakeWord told;
std::atomic<bool> seen{false};
char name[16];
sigset_t blocked;

void look_at_itself() {
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    do pthread_getname_np(pthread_self(), name, sizeof name);
    while (name != std::string("gpusim-example"));  // named by its maker, a moment after it starts
    seen = true;
    told.wake();
}

}  // namespace

TEST_CASE("a box thread has a name and takes no signals", "[box_thread]") {
    sigset_t before, after;
    pthread_sigmask(SIG_SETMASK, nullptr, &before);
    CHECK(start_box_thread("gpusim-example", look_at_itself));
    pthread_sigmask(SIG_SETMASK, nullptr, &after);
    while (!seen) told.wait(0);
    CHECK(sigismember(&blocked, SIGTERM) == 1);
    CHECK(sigismember(&blocked, SIGPROF) == 1);
    CHECK(sigismember(&before, SIGTERM) == sigismember(&after, SIGTERM));
}

TEST_CASE("a wake word lets nobody sleep over news", "[box_thread]") {
    WakeWord word;
    const uint32_t before = word.value();
    word.wait(before, 2'000'000);  // no news: its time passes
    CHECK(word.value() == before);
    word.wake();
    CHECK(word.value() == before + 1);
    word.wait(before);  // news: returns at once

    std::thread waiter([&] {
        for (uint32_t at = before + 1; word.value() != before + 100;) {
            word.wait(at);
            at = word.value();
        }
    });
    for (int i = 1; i < 100; ++i) word.wake();
    waiter.join();
}

}  // namespace box_thread_test
