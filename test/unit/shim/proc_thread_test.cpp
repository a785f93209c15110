#include "shim/machine/proc_thread.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <thread>
#include <tuple>

#include "optional.h"
#include "shim/base/system.h"
#include "shim/sqlite/rows.h"

namespace proc_thread_test {

using namespace gpushim::shim;

namespace {

struct Pipe {
    int ends[2];
    Pipe() { REQUIRE(pipe(ends) == 0); }
    ~Pipe() {
        close(ends[0]);
        close(ends[1]);
    }
    void send() const { REQUIRE(write(ends[1], "x", 1) == 1); }
};

// What a thread is seen doing that is in `work` until `release`. Looked at until it is there.
std::string seen_in(const std::function<void()>& work, const std::function<void()>& release,
                    const std::string& expected) {
    std::atomic<int32_t> tid = 0;
    std::thread thread([&] {
        tid = thread_id();
        work();
    });
    std::string seen;
    for (int tries = 0; tries < 2'000 && seen != expected; ++tries) {
        usleep(1'000);
        if (tid == 0) continue;
        const auto sample = look_at_thread(tid);
        seen = sample ? name_of(sample->what) : "nothing";
        CHECK((!sample || sample->runqueue_ns != kNull));
    }
    release();
    thread.join();
    return seen;
}

bool has_syscall_file() { return access("/proc/self/syscall", R_OK) == 0; }

}  // namespace

TEST_CASE("the address that a thread waits at is read", "[proc_thread]") {
    const std::string futex = std::to_string(SYS_futex);
    CHECK(parse_futex(futex + " 0x7f31c8a2b4f8 0x189 0x0 0x7fff 0x0 0xffffffff 0x7ffc 0x7f31") ==
          0x7f31c8a2b4f8u);
    CHECK(parse_futex(std::to_string(SYS_ppoll) + " 0x7f31c8a2b4f8 0x1 0x0") == 0u);
    CHECK(parse_futex("running") == 0u);
    CHECK(parse_futex(futex) == 0u);
    CHECK_FALSE(parse_futex(""));
}

TEST_CASE("what the kernel says of a thread is read", "[proc_thread]") {
    CHECK(parse_syscall("running\n")->running);
    CHECK(parse_syscall("202 0x7f 0x189 0x0 0x0 0x0 0x0 0x7ffc 0x7f7d\n")->number == 202);
    CHECK_FALSE(parse_syscall("202 0x7f 0x189\n")->running);
    for (const auto& [call, words, what] :
         {std::tuple(SYS_pselect6, " 0x0 0x0 0x0 0x0 0x7ffc", HostClass::sleeping),
          std::tuple(SYS_pselect6, " 0x8 0x0 0x0 0x0 0x7ffc", HostClass::waiting_for_descriptor),
          std::tuple(SYS_ppoll, " 0x7f31 0x0 0x7ffc 0x0", HostClass::sleeping),
          std::tuple(SYS_ppoll, " 0x7f31 0x1 0x7ffc 0x0", HostClass::waiting_for_descriptor),
          std::tuple(SYS_ppoll, "", HostClass::waiting_for_descriptor)})
        CHECK(class_of(parse_syscall(std::to_string(call) + words)->number, 'S') == what);
    CHECK(parse_syscall("-1 0x7ffc 0x7f7d\n")->number == -1);
    CHECK_FALSE(parse_syscall(""));
    CHECK(parse_state("8435 (python3) R 8421 8421") == 'R');
    CHECK(parse_state("8435 (a) D (b) S 8421") == 'S');
    CHECK(parse_state("") == '?');
    CHECK(parse_state("8435 (cut)") == '?');
    CHECK(parse_runqueue_ns("75914 20811 2\n") == 20811);
    CHECK(parse_runqueue_ns("75914") == kNull);
    CHECK(parse_runqueue_ns("") == kNull);
}

TEST_CASE("a system call says what a thread is blocked on, unless its state does", "[proc_thread]") {
    CHECK(class_of(SYS_futex, 'S') == HostClass::waiting_for_lock);
    CHECK(class_of(SYS_ppoll, 'S') == HostClass::waiting_for_descriptor);
    CHECK(class_of(SYS_epoll_pwait, 'S') == HostClass::waiting_for_descriptor);
    CHECK(class_of(SYS_recvfrom, 'S') == HostClass::reading);
    CHECK(class_of(SYS_read, 'S') == HostClass::reading);
    CHECK(class_of(SYS_read, 'D') == HostClass::disk);
    CHECK(class_of(-1, 'D') == HostClass::disk);
    CHECK(class_of(SYS_read, 'R') == HostClass::running);
    CHECK(class_of(SYS_fsync, 'S') == HostClass::disk);
    CHECK(class_of(SYS_wait4, 'S') == HostClass::child);
    CHECK(class_of(SYS_clock_nanosleep, 'S') == HostClass::sleeping);
    CHECK(class_of(SYS_getpid, 'S') == HostClass::other);
    CHECK(class_of(-1, 'S') == HostClass::other);
}

TEST_CASE("threads are seen at what they do", "[proc_thread][no_emulator]") {
    if (!has_syscall_file()) {
        lacks("proc_syscall");
        return;
    }
    const Pipe a, b, c;
    char byte;
    ssize_t got = 0;
    CHECK(seen_in([&] { got = read(a.ends[0], &byte, 1); }, [&] { a.send(); }, "reading") == "reading");
    CHECK(got == 1);
    pollfd watched = {b.ends[0], POLLIN, 0};
    CHECK(seen_in([&] { poll(&watched, 1, -1); }, [&] { b.send(); }, "waiting_for_descriptor") ==
          "waiting_for_descriptor");
    std::atomic<uint32_t> word = 0;
    const auto lock = [&] {
        while (word == 0) wait_while(word, 0, 10'000'000'000);
    };
    const auto unlock = [&] {
        word = 1;
        wake_all(word);
    };
    CHECK(seen_in(lock, unlock, "waiting_for_lock") == "waiting_for_lock");
    CHECK(seen_in([] { usleep(300'000); }, [] {}, "sleeping") == "sleeping");
    std::atomic<bool> enough = false;
    const auto spin = [&] {
        while (!enough) {
        }
    };
    CHECK(seen_in(
              spin, [&] { enough = true; }, "running") == "running");
    const pid_t child = fork();
    if (child == 0) {
        static_cast<void>(read(c.ends[0], &byte, 1));
        _exit(0);
    }
    CHECK(seen_in([&] { waitpid(child, nullptr, 0); }, [&] { c.send(); }, "child") == "child");
}

TEST_CASE("of a thread that is gone nothing is said", "[proc_thread]") {
    int32_t tid = 0;
    std::thread([&] { tid = thread_id(); }).join();
    for (int tries = 0; tries < 2'000 && thread_lives(getpid(), tid); ++tries) usleep(1'000);
    CHECK_FALSE(look_at_thread(tid));
}

}  // namespace proc_thread_test
